"""Rows that keep coming: forgetting, saving and going on, and memory that stays where it is."""

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psidag import Constraints, InputError, Moments, PsiDAG, Stochastic, learn_dag
from psidag.simulate import simulate

ROOT = Path(__file__).parents[2]
FRAME = pd.DataFrame(simulate("ER2", d=6, n=2000, seed=1).X, columns=list("abcdef"))


def process(direction, n, seed):
    """Two variables of which one drives the other, and a third on its own."""
    rng = np.random.default_rng(seed)
    cause, noise, other = rng.normal(size=(3, n))
    effect = 1.5 * cause + noise
    return np.c_[cause, effect, other] if direction == "forth" else np.c_[effect, cause, other]


def feed(model, rows, size=50):
    for start in range(0, len(rows), size):
        model.partial_fit(rows[start : start + size])
    return model


def test_a_turned_edge_is_followed_with_forgetting_and_not_without():
    forgetful, faithful = PsiDAG(half_life=500, random_state=0), PsiDAG(random_state=0)
    for model in (forgetful, faithful):
        feed(model, process("forth", 20_000, 0))
        assert [edge[:2] for edge in model.solution_.dag.edges()] == [("x0", "x1")]
        feed(model, process("back", 5_000, 1))
    assert [edge[:2] for edge in forgetful.solution_.dag.edges()] == [("x1", "x0")]
    assert forgetful.adjacency_[1, 0] == pytest.approx(1.5, abs=0.15)
    assert forgetful.solution_.n_samples == pytest.approx(500 / np.log(2), rel=0.01)
    # Of a mixture of both the direction is not known.
    assert [set(edge) for edge in faithful.solution_.graph.undirected_edges()] == [{"x0", "x1"}]
    assert faithful.solution_.n_samples == 25_000


def test_weights_are_those_of_exponential_weights_however_rows_are_cut():
    weight = 0.5 ** (np.arange(len(FRAME))[::-1] / 300)
    expected = Moments.from_rows(FRAME.to_numpy(), sample_weight=weight)
    for size in (1, 37, 2000):
        moments = feed(PsiDAG(half_life=300), FRAME.to_numpy()[-2000:], size)._online._moments
        assert moments.count == pytest.approx(expected.count)
        np.testing.assert_allclose(moments.mean, expected.mean, atol=1e-12)
        np.testing.assert_allclose(moments.scatter, expected.scatter, atol=1e-9)
    doubled = PsiDAG(half_life=300).partial_fit(FRAME, sample_weight=np.full(2000, 2.0))
    assert doubled.solution_.n_samples == pytest.approx(2 * expected.count)


@pytest.mark.parametrize("solver", ["sparse", "exact"])
def test_without_forgetting_bits_are_those_of_plain_moments(solver):
    moments = Moments(6, FRAME.columns)
    for start in range(0, 2000, 70):
        moments.update(FRAME.to_numpy()[start : start + 70])
    model = PsiDAG(solver, random_state=0)
    for start in range(0, 2000, 70):
        model.partial_fit(FRAME.iloc[start : start + 70])
    plain = learn_dag(moments, solver, random_state=0)
    assert (model.adjacency_ != plain.dag.weights).nnz == 0
    np.testing.assert_array_equal(model.solution_.residual_variance, plain.residual_variance)


@pytest.mark.parametrize("half_life", [None, 400])
def test_a_saved_stream_goes_on_as_if_nothing_had_happened(tmp_path, half_life):
    options = {"half_life": half_life, "random_state": 3, "noise": "unequal"}
    whole = PsiDAG(**options).partial_fit(FRAME[:900]).partial_fit(FRAME[900:])
    PsiDAG(**options).partial_fit(FRAME[:900]).save_stream(tmp_path / "s.stream")
    resumed = PsiDAG(**options).load_stream(tmp_path / "s.stream")
    assert resumed.solution_.n_samples <= 900
    resumed = PsiDAG(**options).load_stream(tmp_path / "s.stream").partial_fit(FRAME[900:])
    assert (whole.adjacency_ != resumed.adjacency_).nnz == 0
    assert list(resumed.feature_names_in_) == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        resumed.partial_fit(FRAME.rename(columns={"a": "z"}))


def test_a_stream_of_arrays_has_no_names_after_loading_either(tmp_path):
    X = FRAME.to_numpy()
    PsiDAG().partial_fit(X).save_stream(tmp_path / "s")
    model = PsiDAG(constraints=Constraints(forbidden_edges=[(0, 1)])).load_stream(tmp_path / "s").partial_fit(X)
    assert not hasattr(model, "feature_names_in_")
    assert model.adjacency_[0, 1] == 0


def test_what_cannot_be_saved_loaded_or_forgotten_is_said(tmp_path):
    with pytest.raises(InputError, match="no stream to save"):
        PsiDAG().save_stream(tmp_path / "s")
    with pytest.raises(InputError, match="engine has no state that could be saved"):
        PsiDAG("stochastic").partial_fit(FRAME).save_stream(tmp_path / "s")
    for half_life in (0, -1, float("nan")):
        with pytest.raises(InputError, match="positive number of rows"):
            PsiDAG(half_life=half_life).partial_fit(FRAME)
    with pytest.raises(InputError, match="stochastic engine cannot forget"):
        PsiDAG("stochastic", half_life=100).partial_fit(FRAME)
    with pytest.raises(InputError, match="there is no file"):
        PsiDAG().load_stream(tmp_path / "s")
    model = PsiDAG(random_state=0).partial_fit(FRAME)
    model.save_stream(tmp_path / "s")
    with pytest.raises(InputError, match=r"random numbers .* of another kind"):
        PsiDAG(random_state=np.random.Generator(np.random.MT19937(0))).load_stream(tmp_path / "s")
    with pytest.raises(InputError, match="is not a psidag solution"):
        type(model.solution_).load(tmp_path / "s")
    content = bytearray((tmp_path / "s").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "s").write_bytes(content)
    with pytest.raises(InputError, match=r"checksum|damaged|not a whole"):
        PsiDAG().load_stream(tmp_path / "s")
    with zipfile.ZipFile(tmp_path / "foreign", "w") as archive:
        archive.writestr("a", "b")
    with pytest.raises(InputError, match="is not a psidag stream"):
        PsiDAG().load_stream(tmp_path / "foreign")


@pytest.mark.parametrize("size", [7, 50, 64, 1000, 1063])
def test_the_stochastic_engine_starts_with_batches_of_any_size(size):
    X = np.tile(FRAME.to_numpy(), (2, 1))
    model = feed(PsiDAG(Stochastic(tau1=20, tau2=20), random_state=0), X[:1500], size)
    assert model.solution_.n_samples == 1500
    assert model.adjacency_.nnz > 0
    short = learn_dag(iter([X[:1030]]), Stochastic(tau1=20, tau2=20, max_rounds=2), random_state=0)
    assert short.n_samples == 1030


@pytest.mark.slow
@pytest.mark.parametrize("half_life", [None, 1000])
def test_memory_stays_where_it_is(half_life):
    code = (
        "import sys; sys.path.insert(0, 'benchmarks'); from soak import soak;"
        f"m = soak(20_000, 20, 10, {half_life}, 'auto', 5); print(m[-1] - m[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert float(done.stdout.split()[-1]) < 2
