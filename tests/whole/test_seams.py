"""What others may add, each by one object of their own, used through the public API; the library is not touched."""

import importlib
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from psidag import (
    DAG,
    Constraints,
    Exact,
    InputError,
    Moments,
    PsiDAG,
    Stochastic,
    bootstrap,
    exchange,
    fit_dag,
    learn_dag,
)
from psidag.cli.commands import app
from psidag.data.files import read_table
from psidag.data.formats import FORMATS, TableFormat
from psidag.data.readers import Block, Reader
from psidag.data.writing import write_table
from psidag.simulate import simulate

PROBLEM = simulate("ER2", d=6, n=900, seed=4)


class Sums:
    """A source that knows no more than its moments."""

    names = tuple("abcdef")
    d = 6

    def moments(self):
        return Moments.from_rows(PROBLEM.X, self.names)


class Pages(Sums):
    """A source whose rows come in pages, whenever they are asked for."""

    def __init__(self, X=PROBLEM.X):
        self.X = X

    def batches(self):
        for start in range(0, len(self.X), 100):
            yield self.X[start : start + 100]


@pytest.mark.parametrize("solver", ["auto", "exact"])
@pytest.mark.parametrize("source", [Sums(), Pages()], ids=["sums", "pages"])
def test_a_source_of_ones_own(source, solver):
    expected = learn_dag(PROBLEM.X, solver, names=source.names, random_state=0)
    found = learn_dag(source, solver, random_state=0)
    assert {edge[:2] for edge in found.dag.edges()} == {edge[:2] for edge in expected.dag.edges()}
    assert found.n_samples == 900
    assert PsiDAG(solver, random_state=0).fit(source).solution_.names == source.names
    assert fit_dag(source, found.dag).dag.n_edges == found.dag.n_edges


@pytest.mark.parametrize("source", [Sums(), Pages()], ids=["sums", "pages"])
def test_draws_from_a_source_of_ones_own(source):
    assert bootstrap(source, replicates=3, random_state=0).replicates == 3


def test_rows_of_a_source_of_ones_own_are_sampled_and_checked():
    engine = Stochastic(tau1=30, tau2=30, max_rounds=2)
    assert learn_dag(Pages(), engine, random_state=0).dag.n_edges
    with pytest.raises(InputError, match="samples rows"):
        learn_dag(Sums(), engine)
    X = PROBLEM.X.copy()
    X[150, 2] = np.nan
    with pytest.raises(InputError, match="'c' in 1 of 900 rows"):
        learn_dag(Pages(X))
    with pytest.warns(UserWarning, match="1 of 900"):
        assert learn_dag(Pages(X), missing="drop").n_samples == 899


def test_a_source_of_ones_own_that_breaks_its_word_is_named():
    class Odd(Sums):
        def moments(self):
            return PROBLEM.X

    with pytest.raises(InputError, match=r"moments\(\) of a source must give Moments of its 6 columns"):
        learn_dag(Odd())


def test_a_table_with_columns_called_like_the_parts_of_a_source_is_a_table():
    frame = pd.DataFrame(PROBLEM.X[:, :3], columns=["names", "d", "moments"])
    assert learn_dag(frame).names == ("names", "d", "moments")


@dataclass(frozen=True)
class ByEffect:
    """A projection of one's own: variables in descending sum of what they have on others after A1."""

    def order(self, seen):
        return seen.constraints.nearest_order(np.argsort(-np.abs(seen.weights).sum(axis=1)))


@pytest.mark.parametrize("engine", [Stochastic(ordering=ByEffect(), max_rounds=2), Exact(ordering=ByEffect())])
def test_a_projection(engine):
    problem = simulate("ER2", d=8, n=800, seed=0)
    known = Constraints(required_edges=[(problem.names[3], problem.names[1])])
    solution = learn_dag(problem.X, engine, names=problem.names, constraints=known, random_state=0)
    estimator = PsiDAG(solver=engine, constraints=known, random_state=0).fit(problem.X)
    assert known.bind(problem.names).respects(solution.order)
    assert estimator.solution_.order.tolist() == solution.order.tolist()
    plain = learn_dag(problem.X, type(engine)(ordering="psi"), names=problem.names, random_state=0)
    assert plain.order.tolist() != solution.order.tolist()


def read_words(file, choose):
    """A format with a word for each number: columns by their names in the first line."""
    with file.open() as lines:
        names, *rows = [line.split() for line in lines.read().decode().splitlines()]
    chosen = choose(names, file.where)
    values = np.array([[WORDS.index(row[k]) for k in chosen] for row in rows], dtype=float)
    columns = tuple(names[k] for k in chosen)
    return Reader(
        file.where, columns, lambda: iter([Block(values, ("number",) * len(columns))]), {}, columns, len(values)
    )


def write_words(X, names, file):
    lines = [" ".join(names), *(" ".join(WORDS[int(value)] for value in row) for row in X)]
    file.write("\n".join(lines).encode())


WORDS = ("none", "one", "two", "three")
SPOKEN = TableFormat((".words",), read_words, write_words, {b"spoken": ".words"})


def test_a_table_format_of_ones_own(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(FORMATS, "words", SPOKEN)
    X = np.random.default_rng(0).integers(4, size=(60, 3)).astype(float)
    path = tmp_path / "table.words"
    write_table(X, ["spoken", "b", "c"], str(path))
    assert path.read_text().startswith("spoken b c\n")
    table = read_table(path, drop=["b"])
    assert table.names == ("spoken", "c")
    np.testing.assert_array_equal(table.X, X[:, [0, 2]])
    expected = learn_dag(X, names=["spoken", "b", "c"], random_state=0)
    for data in (path, tmp_path, f"{tmp_path}/*.words", read_table(path, hold=1)):
        found = learn_dag(data, random_state=0)
        np.testing.assert_allclose(found.dag.to_dense(), expected.dag.to_dense(), atol=1e-9)
    path.rename(tmp_path / "nameless")
    assert read_table(tmp_path / "nameless").names == ("spoken", "b", "c")
    with pytest.raises(InputError, match=r"the ending must be one of .*\.words"):
        read_table(__file__)
    importlib.import_module("psidag.cli.commands")
    app(["info", str(tmp_path / "nameless"), "--json"], standalone_mode=False)
    assert '"rows": 60' in capsys.readouterr().out


def write_arrows(content):
    return "\n".join(f"{a} > {b}" for a, b, _ in content.dag.edges())


def read_arrows(text, where):
    return DAG.from_edges([tuple(line.split(" > ")) for line in text.splitlines()])


def test_a_graph_format_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.setitem(exchange.FORMATS, "arrows", exchange.files.Format((".arrows",), write_arrows, read_arrows))
    solution = learn_dag(PROBLEM.X, random_state=0)
    path = tmp_path / "graph.arrows"
    exchange.write_graph(solution, path)
    again = exchange.read_graph(path)
    assert {edge[:2] for edge in again.edges()} == {edge[:2] for edge in solution.dag.edges()}
    importlib.import_module("psidag.cli.commands")
    app(["convert", str(path), str(tmp_path / "graph.json")], standalone_mode=False)
    assert exchange.read_graph(tmp_path / "graph.json").n_edges == again.n_edges
