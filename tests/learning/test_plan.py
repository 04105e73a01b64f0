"""One way from data to a solution: whichever door is taken, the same answer and a record of how to repeat it."""

import numpy as np
import pandas as pd
import pytest

from psidag import Constraints, InputError, PsiDAG, bootstrap, learn_dag, penalty_path
from psidag.data import ingest
from psidag.data.correlations import SINGLE_FROM
from psidag.learning.plan import Options, Plan, as_generator
from psidag.simulate import simulate
from psidag.system.parallel import SERIAL

FRAME = pd.DataFrame(simulate("ER2", d=6, n=300, seed=1).X, columns=list("abcdef"))
GAPPY = FRAME.mask(np.random.default_rng(0).random(FRAME.shape) < 0.01)
KNOWN = Constraints(forbidden_edges=[("a", "b")])


def repeated(solution, data):
    """What the recorded call gives."""
    names = {"learn_dag": learn_dag, "PsiDAG": PsiDAG, "Constraints": Constraints, "data": data}
    return eval(solution.origin.call, names)


@pytest.mark.filterwarnings("ignore::psidag.DataWarning")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"missing": "mean", "noise": "unequal", "random_state": 3},
        {"missing": "drop", "threshold": 0.3, "solver": "exact"},
        {"missing": "pairwise", "constraints": KNOWN, "max_time": 60.0},
    ],
    ids=str,
)
def test_the_record_of_a_run_repeats_it(options):
    data = GAPPY if "missing" in options else FRAME
    by_call = learn_dag(data, **options)
    by_model = PsiDAG(**options).fit(data).solution_
    assert by_call.origin == by_model.origin
    again = repeated(by_model, data)
    np.testing.assert_array_equal(again.dag.to_dense(), by_call.dag.to_dense())
    np.testing.assert_array_equal(by_model.dag.to_dense(), by_call.dag.to_dense())
    if options.get("missing") in (None, "drop"):
        online = PsiDAG(**options, half_life=500.0).partial_fit(data).solution_
        np.testing.assert_array_equal(repeated(online, data).adjacency_.toarray(), online.dag.to_dense())


def test_what_does_not_fit_a_line_of_the_record_goes_by_its_name():
    many = Constraints(forbidden_edges=[(f"x{i}", f"x{j}") for i in range(40) for j in range(i)])
    X = simulate("ER2", d=40, n=100, seed=0).X
    rng = np.random.default_rng(0)
    found = learn_dag(X, constraints=many, sample_weight=np.ones(100), random_state=rng, max_memory="4GB")
    call = "learn_dag(data, constraints=constraints, random_state=random_state, sample_weight=sample_weight, "
    assert found.origin.call == call + "max_memory='4GB')"
    assert found.origin.seed is None


@pytest.mark.filterwarnings("ignore::psidag.DataWarning")
@pytest.mark.parametrize(
    "door",
    [
        learn_dag,
        lambda data: PsiDAG().fit(data),
        lambda data: bootstrap(data, replicates=2),
        lambda data: penalty_path(data, [2.0]),
    ],
    ids=["learn_dag", "fit", "bootstrap", "path"],
)
def test_data_are_looked_through_for_gaps_once(door, monkeypatch):
    looks = []
    seen = ingest.complete
    monkeypatch.setattr(ingest, "complete", lambda *given: looks.append(1) or seen(*given))
    door(FRAME)
    assert looks == [1]


def test_the_steps_of_a_plan():
    options = Options(random_state=0, constraints=KNOWN)
    source = options.ingest(FRAME)
    plan = Plan.of(options, source)
    learned = plan.search(source, as_generator(0), SERIAL)
    solution = plan.solution(learned)
    assert learned.outcome.status.ok
    assert (solution.dag.weights != plan.edges(learned)[0]).nnz == 0
    assert solution.origin == options.origin()
    with pytest.raises(InputError, match="threshold"):
        Options(threshold=-1.0)


def test_evidence_that_is_asked_for_is_measured_on_wide_tables_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, SINGLE_FROM)).astype(np.float32)
    X[:, 1] += 3 * X[:, 0]
    graph = learn_dag(X, noise="unequal", random_state=0, evidence=True).graph
    assert np.all(np.isfinite(graph.probability))
    assert np.all(np.isnan(learn_dag(X, noise="unequal", random_state=0).graph.probability))
