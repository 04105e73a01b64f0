"""Everything that can be handed in, and what is said about what cannot."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from psidag import DAG, Constraints, DataWarning, InputError, Moments, Stochastic, fit_dag, fit_order, learn_dag
from psidag.data.ingest import as_source
from psidag.data.sources import Stream, Summary, Table
from psidag.simulate import simulate

QUICK = Stochastic(tau1=30, tau2=30, max_rounds=3)
PROBLEM = simulate("ER2", d=6, n=400, seed=4)
NAMES = ["a b", "b", "c", "d", "e", "f"]


def learn(data, **options):
    return learn_dag(data, QUICK, random_state=0, **options)


REFERENCE = learn(PROBLEM.X)


@pytest.mark.parametrize(
    "make",
    [
        lambda X: np.asfortranarray(X),
        lambda X: X.tolist(),
        lambda X: pd.DataFrame(X, columns=NAMES),
        lambda X: pl.DataFrame(X, schema=NAMES),
        lambda X: pl.DataFrame(X, schema=NAMES).lazy(),
        lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
    ],
    ids=["fortran", "list", "pandas", "polars", "lazy", "arrow"],
)
def test_the_same_rows_in_any_container_give_the_same_answer(make):
    solution = learn(make(PROBLEM.X))
    np.testing.assert_allclose(solution.dag.to_dense(), REFERENCE.dag.to_dense(), atol=1e-9)
    assert solution.names == (REFERENCE.names if isinstance(make(PROBLEM.X), list | np.ndarray) else tuple(NAMES))


def test_a_memory_mapped_file_and_its_path(tmp_path):
    np.save(tmp_path / "rows.npy", PROBLEM.X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    for given in (mapped, tmp_path / "rows.npy", str(tmp_path / "rows.npy")):
        assert (learn(given).dag.to_dense() == REFERENCE.dag.to_dense()).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, bool])
def test_precisions_and_kinds_of_numbers(dtype):
    X = (PROBLEM.X > 0) if dtype is bool else (PROBLEM.X * 10).astype(dtype)
    assert as_source(X).X.dtype == (dtype if dtype in (np.float32, np.float64) else np.float64)
    before = X.copy()
    learn(X)
    assert (before == X).all()


def test_what_is_kept_and_what_is_copied():
    assert as_source(PROBLEM.X).X is PROBLEM.X
    assert isinstance(as_source(iter([PROBLEM.X])), Stream)
    assert isinstance(as_source(Moments.from_rows(PROBLEM.X)), Summary)
    assert isinstance(as_source(PROBLEM.X), Table)


def with_cell(value):
    X = PROBLEM.X.copy()
    X[[3, 17], 2] = value
    return X


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (with_cell(np.nan), r"'x2' in 2 of \d+ rows \(first row 3\).*missing=\"drop\""),
        (with_cell(np.inf), "infinity: 'x2'"),
        (pd.DataFrame({"good": [1.0, 2], "name": ["u", "v"]}), "not numbers: 'name'; leave them out"),
        (pl.DataFrame({"good": [1.0, 2], "when": ["u", "v"]}), "not numbers: 'when'"),
        (np.array([["1", "u"], ["2", "v"]]), "not numbers: 'x1'"),
        (PROBLEM.X[:, :1], "at least two columns"),
        (PROBLEM.X[:1], "minimum of 2 is required"),
        (PROBLEM.X[:, 0], "Reshape your data"),
        (PROBLEM.X + 1j, "Complex data not supported"),
        (pd.DataFrame(np.ones((5, 2)), columns=["a", "a"]), "repeated: 'a'|unique"),
        (iter([]), "no batch at all"),
        (iter([PROBLEM.X[:10], PROBLEM.X[:10, :4]]), r"batch 1 of the stream \(from row 10 on\) has 4 columns"),
        (iter([PROBLEM.X, with_cell(np.nan)]), "'x2' in 2 of"),
        ("rows.xlsx", "there is no file"),
        ("nowhere.npy", "there is no file"),
    ],
)
def test_bad_data_is_named(data, message):
    with pytest.raises(ValueError, match=message):
        learn(data)


def test_sparse_input_and_objects_are_type_errors():
    import scipy.sparse as sp

    with pytest.raises(TypeError, match="sparse"):
        learn(sp.csr_array(PROBLEM.X))
    with pytest.raises(TypeError, match="'x1' is not a column of numbers"):
        learn(np.array([[1, {}], [2, {}]], dtype=object))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_time": -1}, "max_time"),
        ({"max_time": 0}, "max_time"),
        ({"threshold": -0.1}, "threshold"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"noise": "loud"}, "noise"),
        ({"names": ["just one"]}, "1 names were given for 6 columns"),
        ({"sample_weight": np.ones(3)}, "one weight for each of the 400 rows"),
        ({"sample_weight": -np.ones(400)}, "row 0 has -1"),
        ({"sample_weight": np.zeros(400)}, "zero everywhere"),
        ({"constraints": Constraints([(0, 1), (1, 0)])}, "contradict"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        learn(PROBLEM.X, **options)


@pytest.mark.parametrize("solver", ["fast", 7, Stochastic, None])
def test_unknown_solvers(solver):
    with pytest.raises(InputError, match="solver must be"):
        learn_dag(PROBLEM.X, solver)


def test_constant_columns_become_isolated_nodes():
    X = np.insert(PROBLEM.X, 2, 1e6, axis=1)
    with pytest.warns(DataWarning, match="constant columns become isolated nodes: 'x2'"):
        solution = learn(X)
    W = solution.dag.to_dense()
    assert not W[2].any()
    assert not W[:, 2].any()
    assert np.isfinite(W).all()
    with pytest.warns(DataWarning, match="constant columns"):
        assert learn(np.full((50, 3), 0.1)).dag.n_edges == 0


@pytest.mark.parametrize("threshold", [None, 0.3])
def test_copies_combinations_and_few_rows_work_with_a_warning(threshold):
    X = PROBLEM.X
    for table, message in (
        (np.c_[X, X[:, 0]], "'x0'|'x6'"),
        (np.c_[X, X[:, 0] - 2 * X[:, 1]], "linear combination"),
        (X[:5], "5 rows for 6 columns"),
    ):
        with pytest.warns(DataWarning, match=message):
            solution = learn(table, threshold=threshold)
        assert np.isfinite(solution.dag.to_dense()).all()


def test_fitting_within_an_order():
    order = PROBLEM.dag.order
    by_index = fit_order(PROBLEM.X, order)
    by_name = fit_order(pd.DataFrame(PROBLEM.X, columns=NAMES), [NAMES[i] for i in order])
    np.testing.assert_allclose(by_index.dag.to_dense(), by_name.dag.to_dense(), atol=1e-12)
    assert PROBLEM.compare(by_index.dag)["shd"] <= 1
    full = fit_order(PROBLEM.X, order, threshold=0.0)
    assert full.dag.n_edges == 15
    constrained = fit_order(
        PROBLEM.X, order, constraints=Constraints(forbidden_edges=[tuple(order[:2])]), threshold=0.0
    )
    assert constrained.dag.n_edges == 14
    with pytest.raises(InputError, match="not a permutation"):
        fit_order(PROBLEM.X, [0, 1, 2, 3, 4, 4])
    with pytest.raises(InputError, match="names 'z'"):
        fit_order(PROBLEM.X, list("zbcdef"))
    with pytest.raises(InputError, match="contradicts the constraints"):
        fit_order(PROBLEM.X, [0, 1, 2, 3, 4, 5], constraints=Constraints([(5, 0)]))


def test_fitting_a_given_dag():
    solution = fit_dag(PROBLEM.X, PROBLEM.dag)
    np.testing.assert_allclose(solution.dag.to_dense(), PROBLEM.dag.to_dense(), atol=0.2)
    S = np.cov(PROBLEM.X.T, bias=True)
    np.testing.assert_allclose(solution.residual_variance, np.diag(S) - np.diag(S @ solution.dag.to_dense()), atol=1e-9)
    # A graph is matched by its names, whatever their order in the table.
    back = fit_dag(pd.DataFrame(PROBLEM.X[:, ::-1], columns=PROBLEM.names[::-1]), PROBLEM.dag)
    assert {e[:2] for e in back.dag.edges()} == {e[:2] for e in PROBLEM.dag.edges()}
    with pytest.raises(InputError, match="same variables"):
        fit_dag(PROBLEM.X, DAG.from_edges([("u", "v")]))
    with pytest.raises(InputError, match="cycle"):
        fit_dag(PROBLEM.X[:, :2], np.array([[0, 1], [1, 0]]))


def test_intercepts_make_the_model_whole():
    X = PROBLEM.X + np.arange(6) * 1e3
    solution = fit_dag(X, PROBLEM.dag)
    residual = X - solution.intercept - X @ solution.dag.to_dense()
    np.testing.assert_allclose(residual.mean(axis=0), 0, atol=1e-6)
