"""The hardest test of a causal model: targets that were left out of the fit, and what happened when they were set."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import erfc

from psidag.data.experiment import as_experiment
from psidag.data.labelled import LabelledSummary, conditions_of
from psidag.directions.calibration import discoveries
from psidag.learning.learn import learn_dag
from psidag.solution.shifts import InterventionChecks, Shift, shifts_of
from psidag.system.errors import DataWarning, InputError
from psidag.system.parallel import workers

#: A variable is named as an off-target only where such a shift by chance is this rare among all of them.
_LEVEL = 0.01


def check_interventions(
    data: Any, interventions: Any, *, folds: int = 10, names: Any = None, missing: str = "error", **options: Any
) -> InterventionChecks:
    """Leave each target out of the fit, predict what setting it does to all others, and compare with what was observed.

    Parameters
    ----------
    data, interventions, names, missing
        As in :func:`psidag.learn_dag`; there must be rows in which nothing was set.
    folds : int
        How many graphs are learned: the conditions are left out in this many groups, each once. As many as there are
        conditions, or more, leave out one at a time.
    **options
        Further options of :func:`psidag.learn_dag`.

    Returns
    -------
    InterventionChecks
        A shift for each target and each other variable; ``print`` shows a summary, and
        :func:`psidag.view.plot_shifts` a picture.

    Examples
    --------
    >>> from psidag.simulate import simulate
    >>> from psidag.simulate.experiment import experiment
    >>> made = experiment(simulate("ER1", d=6, n=2, seed=0).model, rows=40, control_rows=300, seed=0)
    >>> checks = check_interventions(made.X, made.labels, names=made.names, folds=3, random_state=0)
    >>> len(checks), checks.correlation > 0.9
    (30, True)
    """
    if not isinstance(folds, int | np.integer) or folds < 2:
        raise InputError(
            f"folds must be a whole number from 2 on, so that there is something to learn from; got {folds!r}"
        )
    source = as_experiment(data, interventions, names=names, missing=missing)
    with workers(options.get("n_jobs")) as threads:
        whole = conditions_of(source, threads)
    if whole is None:
        raise InputError("nothing was set in any row: there is no intervention to check")
    control, *conditions = whole.means()
    if control.n < 2:
        raise InputError("shifts are measured against rows in which nothing was set, and there are none")
    if len(conditions) < 2:
        raise InputError("a single condition cannot be left out and learned from at once: give rows of two or more")
    found: list[Shift] = []
    for fold in range(min(int(folds), len(conditions))):
        left = conditions[fold :: int(folds)]
        rest = whole.without([each.setting for each in left])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            solution = learn_dag(LabelledSummary(rest), evidence=False, **options)
        for condition in left:
            found += shifts_of(solution, control, condition)
    p_values = erfc(np.abs([shift.unexplained for shift in found]) / np.sqrt(2))
    moved = discoveries(np.asarray(p_values), _LEVEL)
    marked = [
        shift._replace(off_target=bool(sure) and not shift.descendant) for shift, sure in zip(found, moved, strict=True)
    ]
    return InterventionChecks(marked)
