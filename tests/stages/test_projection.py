"""ψ against a literal transcription of Algorithm 2, and the laws it keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from psidag import InputError, project
from psidag.graph.order import positions
from psidag.stages.projection import source_weights, target_weights
from support.knowledge import knowledge


def recursive(W, vertices):
    """Algorithm 2 as it is printed, with the vertex that was placed being the one removed."""
    if not len(vertices):
        return []
    rows, columns = (W**2).sum(axis=1), (W**2).sum(axis=0)
    i_c, i_r = int(np.argmin(columns)), int(np.argmin(rows))
    placed = i_r if rows[i_r] <= columns[i_c] else i_c
    rest = np.delete(np.delete(W, placed, 0), placed, 1)
    order = recursive(rest, np.delete(vertices, placed))
    return [*order, vertices[placed]] if rows[i_r] <= columns[i_c] else [vertices[placed], *order]


def literal(W):
    return recursive(np.asarray(W, dtype=np.float64), np.arange(len(W)))


def test_agrees_with_the_recursion_on_thousands_of_matrices_with_ties():
    rng = np.random.default_rng(0)
    for trial in range(4000):
        d = int(rng.integers(1, 9))
        W = rng.integers(-2, 3, (d, d)) * (rng.random((d, d)) < (0.4, 1.0)[trial % 2])
        np.fill_diagonal(W, 0)
        assert project(W.astype(np.float64)).tolist() == literal(W), W


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("d", [3, 40, 150])
def test_agrees_with_the_recursion_on_real_numbers(dtype, order, d):
    rng = np.random.default_rng(d)
    W = np.asarray(rng.normal(size=(d, d)) ** 3, dtype=dtype, order=order)
    np.fill_diagonal(W, 0)
    before = W.copy()
    assert project(W).tolist() == literal(W)
    assert (before == W).all()
    assert project(W[::1, ::1][: d - 1, : d - 1]).tolist() == literal(W[: d - 1, : d - 1])


@pytest.mark.parametrize("form", [target_weights, source_weights])
def test_weights_multiply_the_entries(form):
    rng = np.random.default_rng(1)
    W = rng.normal(size=(20, 20))
    np.fill_diagonal(W, 0)
    L = form(rng.uniform(0.1, 5, 20))
    full = np.broadcast_to(L, W.shape)
    assert project(W, weights=L).tolist() == project(W, weights=full).tolist() == literal(W * full)


def test_the_two_forms_of_the_weights():
    second_moment = np.array([1.0, 4.0, 9.0])
    assert target_weights(second_moment).shape == (1, 3)
    assert (target_weights(second_moment)[0] == second_moment).all()
    assert (source_weights(second_moment)[:, 0] ** 2 == second_moment).all()


@given(hnp.arrays(np.float64, (7, 7), elements=st.sampled_from([0, 1, -3, 1e-9, 1e9, 1e-200, 5e-324])), st.data())
def test_a_dag_keeps_every_edge_however_small(values, data):
    order = np.array(data.draw(st.permutations(range(7))))
    place = positions(order)
    W = np.where(place[:, None] < place[None, :], values, 0.0)
    found = positions(project(W))
    assert all(found[i] < found[j] for i, j in zip(*np.nonzero(W), strict=True))


def test_cancellation_does_not_hide_a_small_edge():
    # Once 2 is placed, 1e8 is subtracted from norms whose remainder is 1e-8: only recomputing finds it.
    W = np.array([[0, 1e-8, 1e8], [0, 0, 1e8], [0, 0, 0.0]])
    assert project(W).tolist() == [0, 1, 2]


@given(hnp.arrays(np.float64, (6, 6), elements=st.floats(-2, 2)), knowledge())
def test_the_order_respects_constraints(W, known):
    bound = known.bind([str(v) for v in range(6)])
    assert bound.respects(project(W, constraints=bound))


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_weights_that_are_not_finite(bad):
    W = np.zeros((3, 3))
    W[0, 1] = bad
    with pytest.raises(InputError, match="finite"):
        project(W)


def test_shapes_are_checked():
    with pytest.raises(InputError, match="square"):
        project(np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"shape \(3,\) do not fit"):
        project(np.zeros((2, 2)), weights=np.ones(3))
