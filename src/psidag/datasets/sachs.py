"""Sachs et al. (2005): eleven proteins and lipids in single cells, under nine conditions."""

from __future__ import annotations

from typing import Literal

import numpy as np

from psidag.datasets.tables import read_table
from psidag.graph.dag import DAG
from psidag.simulate.experiment import Experiment
from psidag.simulate.problem import Problem
from psidag.system.errors import InputError, listing


def load_sachs(
    *,
    edges: Literal[17, 20] = 17,
    train: str = "cd3_cd28",
    test: str | None = "cd3_cd28+icam2",
) -> Problem:
    """Protein signalling measured in single cells, with the graph that biologists agree on.

    Raw intensities, neither logged nor standardised. By default the split of the paper: the 853 cells that
    were observed without intervention to learn from, the 902 of the next condition to be judged on.

    Parameters
    ----------
    edges : 17 or 20
        The consensus graph of 17 edges, which the paper uses, or the literature graph of 20.
    train, test : str
        Conditions, as :func:`sachs_conditions` names them; ``test=None`` for no test rows.

    References
    ----------
    Sachs, Perez, Pe'er, Lauffenburger & Nolan (2005), "Causal protein-signaling networks derived from
    multiparameter single-cell data".

    Examples
    --------
    >>> load_sachs()
    Problem('sachs': 853 rows of 11 variables, 902 to test, 17 true edges)
    """
    if edges not in (17, 20):
        raise InputError(f"there is a graph of 17 edges and one of 20; got edges = {edges!r}")
    names, rows = read_table("sachs")
    values = np.array(rows, dtype=np.float64)
    conditions = sachs_conditions()
    for condition in (train, test):
        if condition is not None and condition not in conditions:
            known = listing(list(conditions), limit=len(conditions))
            raise InputError(f"{condition!r} is not a condition of the Sachs data; they are {known}")
    return Problem(
        name="sachs",
        X=values[conditions[train]].copy(),
        dag=DAG.from_edges(read_table(f"sachs_edges_{edges}")[1], names=names),
        X_test=None if test is None else values[conditions[test]].copy(),
    )


#: What each reagent acts on among what was measured (Sachs et al. 2005). General stimulations set no single one, and
#: LY294002 inhibits PI3K, which was not measured.
_REAGENTS = {
    "aktinhib": "Akt",
    "g0076": "PKC",
    "psitect": "PIP2",
    "u0126": "Mek",
    "pma": "PKC",
    "b2camp": "PKA",
}


def load_sachs_experiments() -> Experiment:
    """All nine conditions of the Sachs data with what each reagent acts on, for ``learn_dag(…, interventions=…)``.

    An Akt inhibitor, Go6976 and PMA (PKC), psitectorigenin (PIP2), U0126 (Mek) and b2cAMP (PKA) act on what was
    measured; the general stimulations and LY294002, whose target PI3K was not measured, are rows in which nothing was
    set. Reagents inhibit or activate what they act on, reach other molecules too, and PMA and b2cAMP were given without
    the stimulation of all other conditions; effects are curved. Experiments help less here than in simulations.

    Examples
    --------
    >>> made = load_sachs_experiments()
    >>> made.X.shape, sorted({label for label in made.labels if label})
    ((7466, 11), [('Akt',), ('Mek',), ('PIP2',), ('PKA',), ('PKC',)])
    """
    names, rows = read_table("sachs")
    known = {name.casefold(): name for name in names}
    labels: list[tuple[str, ...] | None] = [None] * len(rows)
    for condition, part in sachs_conditions().items():
        acts = [target for reagent, target in _REAGENTS.items() if reagent in condition.casefold()]
        if acts:
            labels[part] = [(known[acts[0].casefold()],)] * (part.stop - part.start)
    return Experiment(np.array(rows, dtype=np.float64), labels, tuple(names))


def sachs_conditions() -> dict[str, slice]:
    """The nine experimental conditions of the Sachs data, each with its rows of the 7,466.

    Examples
    --------
    >>> sachs_conditions()["cd3_cd28"]
    slice(0, 853, None)
    """
    _, rows = read_table("sachs_conditions")
    return {name: slice(int(start), int(start) + int(count)) for name, start, count in rows}
