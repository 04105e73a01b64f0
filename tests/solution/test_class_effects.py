"""Total effects over a class, their errors, counterfactuals, and answers as tables of the kind that came in."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psidag import DAG, fit_dag, learn_dag
from psidag.graph.orientation import markov_class
from psidag.solution.class_effects import effect_error, effects_over_class, possible_parents
from support.random_dags import dags
from support.solutions import given as written_down


def equivalent(matrix):
    """All DAGs of a Markov class, by trying every direction."""
    target = markov_class(DAG.from_weights(matrix)).to_matrix().toarray()
    pairs = np.argwhere(matrix).tolist()
    for turns in range(2 ** len(pairs)):
        other = np.zeros_like(matrix)
        for bit, (i, j) in enumerate(pairs):
            other[(i, j) if turns >> bit & 1 else (j, i)] = 1
        if np.linalg.matrix_power(other, len(other)).any():
            continue
        if np.array_equal(markov_class(DAG.from_weights(other)).to_matrix().toarray(), target):
            yield other


def refitted(matrix, S):
    """The total effects of a DAG with the weights that a covariance gives it."""
    W = np.zeros_like(matrix)
    for j in range(len(matrix)):
        parents = np.flatnonzero(matrix[:, j])
        if len(parents):
            W[parents, j] = np.linalg.solve(S[np.ix_(parents, parents)], S[parents, j])
    return np.linalg.inv(np.eye(len(matrix)) - W)


@given(st.integers(2, 5).flatmap(dags), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_the_effects_are_those_of_all_members(matrix, seed):
    rng = np.random.default_rng(seed)
    dag = DAG.from_weights(matrix * rng.uniform(0.5, 1.5, size=matrix.shape))
    noise = rng.uniform(0.5, 2, size=dag.d)
    total = np.linalg.inv(np.eye(dag.d) - dag.to_dense())
    S = total.T @ np.diag(noise) @ total
    graph = markov_class(dag)
    members = list(equivalent(matrix))
    effects = [refitted(member, S) for member in members]
    for i in range(dag.d):
        sets = {tuple(np.flatnonzero(member[:, i]).tolist()) for member in members}
        assert set(possible_parents(dag, graph, i)) == sets
        for j in range(dag.d):
            if i != j:
                found = effects_over_class(dag, graph, noise, i, j)
                assert found[0] == pytest.approx(min(effect[i, j] for effect in effects), abs=1e-6)
                assert found[-1] == pytest.approx(max(effect[i, j] for effect in effects), abs=1e-6)


def test_standard_errors_are_those_of_many_tables():
    rng = np.random.default_rng(0)
    graph = DAG.from_edges([("a", "b"), ("b", "c"), ("a", "c")])

    def draw(n):
        a = rng.normal(size=n)
        b = 2 * a + rng.normal(size=n)
        return np.c_[a, b, b - a + 2 * rng.normal(size=n)]

    many = [fit_dag(draw(200), graph, names=["a", "b", "c"]).total_effect("a", "c") for _ in range(400)]
    solution = fit_dag(draw(200), graph, names=["a", "b", "c"])
    found = solution.effect("a", "c")
    assert found.standard_error == pytest.approx(np.std(many), rel=0.2)
    assert found.low < found.value < found.high
    assert found.range == (found.value, found.value)


def test_the_error_of_one_edge_is_that_of_its_weight():
    rng = np.random.default_rng(1)
    x = rng.normal(size=500)
    solution = fit_dag(np.c_[x, 3 * x + rng.normal(size=500)], [[0, 1], [0, 0]], names=["x", "y"])
    assert solution.effect("x", "y").standard_error == pytest.approx(solution.edges()[0].standard_error, rel=1e-6)
    assert solution.effect("y", "x").standard_error == 0.0
    assert np.isnan(effect_error(solution.dag, solution.residual_variance, None, 0, 1))


def test_intervals_from_rows_and_ranges_over_the_class():
    rng = np.random.default_rng(2)
    a = rng.normal(size=800)
    table = np.c_[a, 2 * a + rng.normal(size=800)]
    solution = learn_dag(table, noise="unequal", names=["a", "b"], random_state=0)
    both = [solution.effect("a", "b"), solution.effect("b", "a")]
    for effect in both:
        assert effect.members[0] == 0.0  # it may be the other way round
        assert len(effect.members) == 2
    cause, target = solution.dag.names[solution.order[0]], solution.dag.names[solution.order[1]]
    drawn = solution.effect(cause, target, table, replicates=300)
    normal = solution.effect(cause, target)
    assert drawn.low == pytest.approx(normal.low, abs=2 * normal.standard_error)
    assert drawn.high == pytest.approx(normal.high, abs=2 * normal.standard_error)


def test_a_counterfactual_keeps_the_noise():
    solution = written_down([("a", "b", 2.0), ("b", "c", 3.0), ("x", "c", 1.0)])
    rows = np.random.default_rng(0).normal(size=(5, 4))
    changed = solution.counterfactual(rows, {"b": 1.0})
    a, b, c, x = (solution.dag.index(name) for name in "abcx")
    np.testing.assert_array_equal(changed[:, [a, x]], rows[:, [a, x]])
    np.testing.assert_allclose(changed[:, c], rows[:, c] + 3.0 * (1.0 - rows[:, b]))
    same = solution.counterfactual(rows, {"a": 0.0})
    np.testing.assert_allclose(same[:, b], rows[:, b] - 2.0 * rows[:, a])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_answers_are_tables_of_the_kind_that_came_in(library):
    module = pytest.importorskip(library)
    solution = written_down([("a", "b", 2.0)])
    columns = {"a": [1.0, 2.0], "b": [0.0, 1.0]}
    table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    changed = solution.counterfactual(table, {"a": 0.0})
    assert type(changed) is type(table)
    assert type(solution.sample(3, 0, like=table)) is type(table)
    names = changed.column_names if library == "pyarrow" else list(changed.columns)
    assert names == ["a", "b"]
    predicted = solution.predict(table, "b", given="parents")
    assert type(predicted).__module__.startswith(library)
    assert np.asarray(predicted).tolist() == [2.0, 4.0]


def test_row_labels_are_kept():
    solution = written_down([("a", "b", 2.0)])
    frame = pd.DataFrame({"a": [1.0], "b": [0.0]}, index=["first"])
    assert solution.predict(frame, "b", given="parents").loc["first"] == 2.0
    assert isinstance(solution.sample(2, 0), np.ndarray)
