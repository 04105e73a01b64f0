"""Which noise model a graph is learned with: asked for, chosen by the data, or checked afterwards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from psidag.data.labelled import is_experiment
from psidag.data.rows_behind import rows_behind
from psidag.engines.experiment_search import ExperimentSearch
from psidag.engines.experiment_search import State as ExperimentState
from psidag.engines.noise_choice import in_words
from psidag.engines.noise_search import NoiseSearch
from psidag.engines.noise_state import State as NoiseState
from psidag.engines.sparse import Sparse
from psidag.run.loop import Engine, Outcome, Task
from psidag.run.status import Fitted
from psidag.scores.equality import equality_of
from psidag.scores.named import SCORES, Noise, leaves_open, needs_shape
from psidag.scores.score import SearchScore
from psidag.solution.noise import NoiseModel
from psidag.stages.noise_facts import noise_facts
from psidag.system.errors import InputError


def choosing(engine: Engine, noise: Noise, *, experiment: bool = False) -> Engine:
    """The engine that answers the questions about noise which are left open; others stay as they are.

    Of an experiment only the rows in which a variable was left alone tell about its noise.
    """
    if experiment:
        if not isinstance(engine, Sparse):
            raise InputError(f"interventions need the sparse engine, not {engine.name!r}: leave the solver out")
        return ExperimentSearch(engine, noise)
    if needs_shape(noise) and not isinstance(engine, Sparse):
        raise InputError(f"noise='nongaussian' needs the sparse engine, not {engine.name!r}: leave the solver out")
    if isinstance(engine, Sparse) and leaves_open(noise):
        return NoiseSearch(engine, noise)
    return engine


def settled(engine: Engine, noise: NoiseModel) -> Engine:
    """The engine with this choice made for it."""
    return replace(engine, decided=noise) if isinstance(engine, NoiseSearch) else engine


def noise_of(task: Task, outcome: Outcome, noise: Noise) -> NoiseModel:
    """What a search has taken the noise to be."""
    if isinstance(outcome.state, NoiseState | ExperimentState):
        return outcome.state.noise
    if not isinstance(noise, str):
        return NoiseModel(noise.name, noise.name, "a score of one's own")
    chosen = "unequal" if task.score.own_variances else "equal"
    return NoiseModel(noise, chosen, "asked for" if noise in SCORES else "not tested")


def checked(task: Task, noise: NoiseModel, weights: sp.csr_array, found: Fitted) -> NoiseModel:
    """Equal variances that an engine has taken for granted, tested at its graph."""
    if noise.chosen != "equal" or noise.p_value is not None:
        return noise
    # The residuals of rows in which something was set are no noise.
    plain = task.source.holds_rows and not is_experiment(task.source)
    rows = rows_behind(task.source, task.workers) if plain else None
    facts = None if rows is None else noise_facts(rows.X, rows.weight, found.mean, weights, task.workers)
    parents = np.bincount(weights.indices, minlength=weights.shape[0])
    kurtosis = None if facts is None else facts.kurtosis
    tested = equality_of(found.residual_variance, found.n_samples, parents, kurtosis)
    told = in_words(tested, task.source.names, found.n_samples)
    before = "asked for" if noise.asked == "equal" else "all that this engine can learn with"
    return replace(
        noise, reason=f"{before}; {told}", p_value=tested.p_value, ratio=tested.ratio, contradicted=tested.rejected
    )  # fmt: skip


def score_of(task: Task, noise: NoiseModel) -> SearchScore:
    """The score that stands for what was chosen."""
    return noise.score if noise.chosen in ("equal", "nearly equal", "unequal") else task.score
