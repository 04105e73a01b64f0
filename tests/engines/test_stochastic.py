"""The stochastic engine: what it promises about bits, orders, budgets and streams."""

import numpy as np
import pytest

from psidag import SGD, Constraints, InputError, Interrupted, Moments, Stochastic, Universal, learn_dag
from psidag.graph.metrics import heldout_gap
from psidag.simulate import simulate

QUICK = Stochastic(tau1=60, tau2=60, max_rounds=6)


@pytest.fixture(scope="module")
def problem():
    return simulate("ER2", d=30, n=1500, seed=0, n_test=2000)


def raw(problem, engine, **options):
    """Candidates of all rounds, before edges are chosen."""
    seen = []
    learn_dag(problem.X, engine, random_state=0, callback=lambda _, candidate: seen.append(candidate), **options)
    return seen


@pytest.mark.parametrize("d", [12, 330])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(d, dtype):
    X = simulate("ER2", d=d, n=400, seed=1).X
    engine = Stochastic(tau1=20, tau2=20, max_rounds=2, dtype=dtype)
    one, two = (learn_dag(X, engine, random_state=7, n_jobs=jobs, threshold=0.0) for jobs in (1, 2))
    assert (one.dag.weights.toarray() == two.dag.weights.toarray()).all()
    assert (one.order == two.order).all()
    other = learn_dag(X, engine, random_state=8, n_jobs=1, threshold=0.0)
    assert one.trace[-1].loss != other.trace[-1].loss


def test_it_learns(problem):
    solution = learn_dag(problem.X, "stochastic", random_state=0)
    assert problem.compare(solution.dag)["gap"] < 0.04
    assert solution.status.code == "converged"
    losses = [r.loss for r in solution.trace]
    assert losses[-1] < losses[0]
    steps = np.diff([r.steps for r in solution.trace], prepend=0)
    assert (steps == 400).all()
    assert np.isnan(solution.trace[0].order_change)
    assert all(0 <= r.order_change <= 1 for r in solution.trace[1:])


def test_the_true_order_reaches_the_solution_and_random_ones_stay_far_away():
    problem = simulate("ER4", d=100, n=5000, seed=3, n_test=5000)
    mean = problem.X.mean(axis=0)

    def gap(order):
        last = raw(problem, Stochastic(order=order, max_rounds=8))[-1]
        return heldout_gap(problem.dag, last.weights, problem.X_test, mean=mean)

    assert gap(problem.dag.order) < 0.02
    rng = np.random.default_rng(0)
    assert min(gap(rng.permutation(100)) for _ in range(3)) > 0.3


def test_the_error_falls_as_the_theorem_says():
    """On a fixed order with fresh samples, F(average) - F* over 10 seeds against the number of gradients."""
    problem = simulate("ER2", d=20, n=10, seed=5)
    model = problem.model
    inverse = np.linalg.inv(np.eye(20) - problem.dag.to_dense())
    covariance = inverse.T @ inverse
    best = 0.5 * 20

    def error(steps, seed):
        seen = []
        engine = Stochastic(batch_size=1, order=problem.dag.order, tau2=steps, max_rounds=1, source_scaling=0.0)
        learn_dag(model.stream(200, seed), engine, callback=lambda _, candidate: seen.append(candidate.weights))
        remainder = np.eye(20) - seen[0]
        return 0.5 * np.trace(remainder.T @ covariance @ remainder) - best

    lengths = [250, 500, 1000, 2000, 4000]
    means = [np.mean([error(steps, seed) for seed in range(10)]) for steps in lengths]
    slope = np.polyfit(np.log(lengths), np.log(means), 1)[0]
    assert slope < -0.45


def test_the_radius_is_found_from_the_data():
    """Between 1 and 8 times the norm of the solution in the scaled coordinates, where the method works alike."""
    for name in ("ER2", "ER4", "SF4"):
        problem = simulate(name, d=60, n=2000, seed=2)
        sd = problem.X.std(axis=0)
        scale = np.sqrt(sd * np.exp(np.log(sd).mean()))
        radius = 2 * np.sqrt((sd**2).sum())
        assert 1 < radius / np.linalg.norm(problem.dag.to_dense() * scale[:, None]) < 8


@pytest.mark.parametrize(
    "engine",
    [
        Stochastic(rule=SGD(), max_rounds=10),
        Stochastic(rule=SGD(schedule="sqrt"), max_rounds=10),
        Stochastic(rule=Universal(radius=30.0)),
        Stochastic(batch_size=16, source_scaling=1.0),
        Stochastic(ordering="psi-target"),
        Stochastic(dtype="float64"),
    ],
    ids=["sgd", "sgd-sqrt", "radius", "standardised", "target", "float64"],
)
def test_every_option_learns(problem, engine):
    assert problem.compare(learn_dag(problem.X, engine, random_state=0).dag)["gap"] < 0.05


def test_the_curvature_form_of_the_weighted_projection_runs(problem):
    solution = learn_dag(problem.X, Stochastic(ordering="psi-curvature", max_rounds=3), random_state=0)
    assert solution.dag.n_edges > 0


def test_a_warm_start_starts_there(problem):
    W = problem.dag.to_dense()
    warm = raw(problem, Stochastic(start=W, tau1=5, tau2=5, max_rounds=1))[0]
    cold = raw(problem, Stochastic(tau1=5, tau2=5, max_rounds=1))[0]
    assert warm.loss < 0.9 * cold.loss
    assert (problem.dag.to_dense() == W).all()


def test_a_stream_is_learned_from_as_it_passes(problem):
    solution = learn_dag(problem.stream(100), Stochastic(max_rounds=5), random_state=0)
    assert solution.n_samples >= 5 * 400 * 64
    assert problem.compare(solution.dag)["gap"] < 0.04


def test_a_stream_that_ends_is_a_reason_to_stop(problem):
    solution = learn_dag(iter(np.array_split(problem.X, 7)), QUICK, random_state=0)
    assert solution.status.code == "data_ended"
    assert solution.n_samples == len(problem.X)
    short = learn_dag(iter([problem.X[:300], problem.X[300:600]]), QUICK, random_state=0)
    assert short.status.code in ("converged", "max_rounds")


def test_a_running_mean_centres_a_stream(problem):
    shifted = (batch + 1e4 for batch in problem.stream(100))
    solution = learn_dag(shifted, Stochastic(max_rounds=3), random_state=0)
    np.testing.assert_allclose(solution.mean, problem.X.mean(axis=0) + 1e4, atol=0.5)
    assert problem.compare(solution.dag)["gap"] < 0.05


def test_time_is_kept_and_the_best_so_far_returned(problem):
    solution = learn_dag(problem.X, Stochastic(tau1=10**7), max_time=0.2, random_state=0)
    assert solution.status.code == "time_limit"
    assert "before the first round ended" in solution.status.message
    assert solution.dag.n_edges > 0
    late = learn_dag(problem.X, Stochastic(tol=-1.0, max_rounds=10**6), max_time=0.5, random_state=0)
    assert late.status.code == "time_limit"
    assert len(late.trace) >= 1


def test_the_round_limit_gives_advice(problem):
    solution = learn_dag(problem.X, Stochastic(tau1=10, tau2=10, max_rounds=3), random_state=0)
    assert solution.status.code == "max_rounds"
    assert "raise max_rounds" in solution.status.message


def test_ctrl_c_keeps_the_best_result(problem):
    def interrupt(done, _):
        if done.round == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        learn_dag(problem.X, QUICK, random_state=0, callback=interrupt)
    solution = caught.value.solution
    assert solution.status.code == "interrupted"
    assert len(solution.trace) == 2
    assert solution.dag.n_edges > 0


def test_sample_weights_choose_the_rows():
    a, b = simulate("ER2", d=10, n=2000, seed=0), simulate("ER2", d=10, n=2000, seed=1)
    X = np.concatenate([a.X, b.X])
    weight = np.repeat([1.0, 0.0], 2000)
    solution = learn_dag(X, "stochastic", sample_weight=weight, random_state=0)
    assert solution.n_samples == 2000
    own, other = (heldout_gap(p.dag, solution.dag, p.X) for p in (a, b))
    assert own < 0.05 < 0.5 < other


def test_a_covariance_has_no_rows_to_sample(problem):
    moments = Moments.from_covariance(np.cov(problem.X.T), len(problem.X))
    with pytest.raises(InputError, match="samples rows, and a covariance or Moments has none"):
        learn_dag(moments, "stochastic")


def test_constraints_hold_in_every_round(problem):
    true = list(problem.dag.edges())
    known = Constraints(
        required_edges=[(true[0][1], true[0][0])],
        forbidden_edges=[(i, j) for i, j, _ in true[1:4]],
        tiers=[problem.names[5:8], problem.names[20:25]],
    )
    bound = known.bind(problem.names)
    for threshold in (None, 0.3):
        solution = learn_dag(problem.X, QUICK, constraints=known, threshold=threshold, random_state=0)
        edges = {(i, j) for i, j, _ in solution.dag.edges()}
        assert set(known.required_edges) <= edges
        assert not set(known.forbidden_edges) & edges
        assert bound.respects(solution.order)
    for candidate in raw(problem, QUICK, constraints=known):
        assert bound.respects(candidate.order)
        assert not np.any(candidate.weights[~bound.allowed_within(candidate.order)])


@pytest.mark.parametrize(
    "options",
    [
        {"tau1": 0},
        {"batch_size": 0},
        {"holdout": 1.0},
        {"ordering": "both"},
        {"dtype": "int8"},
        {"max_rounds": 0},
    ],
)
def test_bad_options_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        Stochastic(**options)


def test_a_start_or_order_that_does_not_fit(problem):
    with pytest.raises(InputError, match="start must be of shape"):
        learn_dag(problem.X, Stochastic(start=np.zeros((2, 2))))
    with pytest.raises(InputError, match="order"):
        learn_dag(problem.X, Stochastic(order=[0, 1]))
