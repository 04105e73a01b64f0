"""PsiDAG and scikit-learn's contract."""

import pickle
import re
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from psidag import Constraints, InputError, Interrupted, Moments, PsiDAG, Sparse, Stochastic
from psidag.simulate import simulate

PROBLEM = simulate("ER2", d=12, n=3000, seed=0, n_test=1000)
QUICK = Stochastic(tau1=40, tau2=40, max_rounds=4)


@parametrize_with_checks([PsiDAG(), PsiDAG(noise="unequal"), PsiDAG(solver=QUICK), PsiDAG(solver=QUICK, threshold=0.3)])
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_what_a_fit_leaves_behind():
    model = PsiDAG(random_state=0)
    assert model.fit(PROBLEM.X) is model
    assert model.adjacency_.shape == (12, 12)
    assert model.adjacency_.format == "csr"
    assert sorted(model.order_) == list(range(12))
    assert model.n_iter_ == len(model.trace_) > 0
    assert model.status_.ok
    assert model.n_features_in_ == 12
    assert not hasattr(model, "feature_names_in_")
    residual = PROBLEM.X_test - model.intercept_ - PROBLEM.X_test @ model.adjacency_
    v = model.solution_.residual_variance
    likelihood = -0.5 * (np.log(2 * np.pi * v) + residual**2 / v).sum(axis=1)
    assert model.score(PROBLEM.X_test) == pytest.approx(likelihood.mean())
    weight = np.arange(1000.0)
    weighted = np.average(likelihood, weights=weight)
    assert model.score(PROBLEM.X_test, sample_weight=weight) == pytest.approx(weighted)


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)], ids=["pandas", "polars"]
)
def test_names_come_from_the_table(frame):
    names = [f"gene {i}" for i in range(12)]
    model = PsiDAG(QUICK, random_state=0).fit(frame(PROBLEM.X, columns=names))
    assert model.feature_names_in_.tolist() == names
    assert model.solution_.names == tuple(names)


def test_names_of_a_stream_and_of_moments():
    model = PsiDAG(QUICK, random_state=0).fit(pd.DataFrame(b) for b in np.array_split(PROBLEM.X, 3))
    assert model.n_features_in_ == 12


def test_constraints_by_name():
    names = [f"v{i}" for i in range(12)]
    known = Constraints(required_edges=[("v3", "v7")])
    model = PsiDAG(QUICK, constraints=known, random_state=0).fit(pd.DataFrame(PROBLEM.X, columns=names))
    assert model.adjacency_[3, 7] != 0


def test_a_stream_by_partial_fit():
    model = PsiDAG("stochastic", random_state=0)
    for start in range(0, 3000, 100):
        model.partial_fit(PROBLEM.X[start : start + 100])
        if start == 300:
            assert model.adjacency_.nnz > 0
    assert model.solution_.n_samples == 3000
    assert PROBLEM.compare(model.solution_.dag)["gap"] < 0.05
    np.testing.assert_allclose(model.solution_.mean, PROBLEM.X.mean(axis=0))
    with pytest.raises(ValueError, match="12 features"):
        model.partial_fit(PROBLEM.X[:, :5])
    with pytest.raises(InputError, match="one table or array at a time"):
        model.partial_fit(iter([PROBLEM.X]))
    with pytest.raises(InputError, match="cannot weight"):
        model.partial_fit(PROBLEM.X, sample_weight=np.ones(3000))
    model.fit(PROBLEM.X)
    assert model.n_iter_ > 0


def test_moments_are_kept_where_the_engine_needs_no_rows():
    model = PsiDAG(random_state=0)
    for batch in np.array_split(PROBLEM.X, 20):
        model.partial_fit(batch)
    whole = PsiDAG(random_state=0).fit(PROBLEM.X)
    np.testing.assert_allclose(model.adjacency_.toarray(), whole.adjacency_.toarray(), atol=1e-9)
    model.partial_fit(PROBLEM.X[:10], sample_weight=np.full(10, 2.0))
    assert model.solution_.n_samples == 3020


def test_ctrl_c_stores_the_result_and_still_interrupts():
    def interrupt(done, _):
        raise KeyboardInterrupt

    model = PsiDAG(callback=interrupt, random_state=0)
    with pytest.raises(KeyboardInterrupt) as caught:
        model.fit(PROBLEM.X)
    assert isinstance(caught.value, Interrupted)
    assert model.status_.code == "interrupted"
    assert model.adjacency_.nnz > 0


def test_it_can_be_copied_and_pickled():
    model = PsiDAG(Stochastic(batch_size=32), random_state=0, max_time=60)
    assert clone(model).get_params()["solver"].batch_size == 32
    fitted = model.fit(PROBLEM.X)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.adjacency_ != fitted.adjacency_).nnz == 0


def test_nothing_is_there_before_a_fit():
    model = PsiDAG()
    with pytest.raises(NotFittedError):
        model.score(PROBLEM.X)
    with pytest.raises(AttributeError, match="adjacency_"):
        _ = model.adjacency_


def test_rows_are_needed_for_a_score():
    model = PsiDAG(QUICK, random_state=0).fit(PROBLEM.X)
    with pytest.raises(InputError, match="score takes one table"):
        model.score(Moments.from_rows(PROBLEM.X))


def test_a_progress_bar_shows_the_loss(capsys):
    PsiDAG(QUICK, progress=True, random_state=0).fit(PROBLEM.X)
    shown = capsys.readouterr().err
    assert "stochastic" in shown
    assert "loss=" in shown


def test_a_progress_bar_shows_how_far_a_comparison_of_columns_is(capsys, monkeypatch):
    monkeypatch.setattr("psidag.engines.candidates._NODES", 8)
    monkeypatch.setattr("psidag.engines.candidates._PAIRS", 1)
    PsiDAG(Sparse(max_memory=0), progress=True, random_state=0).fit(simulate("ER2", d=60, n=80, seed=0).X)
    shown = capsys.readouterr().err
    assert re.search(r"columns compared \d+%, [0-9:]+ left", shown)


def test_importing_psidag_imports_nothing_heavy():
    heavy = {"pandas", "matplotlib", "networkx", "pyarrow", "dask"}
    code = f"import sys, psidag; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_fit_that_fails_takes_nothing_away():
    X = simulate("ER2", d=5, n=200, seed=0).X
    model = PsiDAG(random_state=0).fit(X)
    before = model.solution_
    broken = np.c_[X, X]
    broken[3, 4] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.fit(broken)
    model.solver = "nonesuch"
    with pytest.raises(ValueError, match="solver must be"):
        model.fit(X[:, :3])
    assert model.solution_ is before
    assert model.n_features_in_ == 5
    online = PsiDAG(random_state=0).partial_fit(X)
    with pytest.raises(ValueError, match="infinity"):
        online.fit(broken)
    assert online.partial_fit(X).solution_.n_samples == 400
