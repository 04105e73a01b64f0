"""The solution: a fitted linear model on a learned DAG, and the questions one can ask of it."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from psidag.data.experiment import as_experiment
from psidag.data.frames import labelled, labelled_column
from psidag.data.sources import Table, in_memory
from psidag.exchange.content import Content
from psidag.graph import separation
from psidag.graph.dag import DAG
from psidag.graph.order import Order
from psidag.graph.partial import PartialGraph
from psidag.graph.picture import picture
from psidag.run.status import Candidate, Round, Status
from psidag.simulate.graphs import Seed
from psidag.simulate.model import LinearSEM
from psidag.solution import class_effects, effects, prediction, storage
from psidag.solution.confidence import Confidence
from psidag.solution.diagnostics import Diagnostics, diagnose
from psidag.solution.edges import EdgeTable, direction_columns
from psidag.solution.likelihood import row_log_likelihood
from psidag.solution.noise import NoiseModel
from psidag.solution.origin import Origin
from psidag.solution.residuals import ResidualChecks, check_residuals
from psidag.solution.summary import summarise
from psidag.system.errors import InputError, listing


@dataclass(frozen=True, eq=False)
class Solution:
    """The outcome of learning; ``print`` shows a summary.

    Attributes
    ----------
    dag : DAG
        The learned graph, with the edges that the selection rule kept. Where ``graph`` leaves directions open, it is
        one of the DAGs that fit equally well.
    intercept : array of shape (d,)
        The constant of each equation: x_j = intercept_j + Σ_i W[i, j] x_i + noise_j.
    residual_variance : array of shape (d,)
        Variance of the noise of each equation.
    mean, variance : arrays of shape (d,)
        Of the training rows.
    n_samples : float
        Number (or total weight) of the training rows.
    status : Status
        Why the run stopped, with advice.
    trace : tuple of Round
        One row a round; ``pandas.DataFrame(solution.trace)`` makes a table of it.
    engine : str
        The engine that ran, with its options.
    selection : str
        How the edges were chosen.
    candidate : Candidate
        The best order and its weights before edges were chosen.
    standard_error : array of shape (number of edges,), optional
        Of the weights, in the order of ``dag.weights.data``; see :class:`~psidag.solution.edges.EdgeTable`.
    confidence : Confidence, optional
        What a bootstrap has found; see :meth:`with_confidence`.
    warnings : tuple of str
        What the learner said about the data while it learned.
    origin : Origin, optional
        What it takes to learn the same again: the call, the seed, the versions.
    graph : PartialGraph
        The same edges, each with a direction only where something speaks for it, and with what that is; all of ``dag``
        without reasons if it is not given.
    noise : NoiseModel, optional
        What the noise was taken to be, and why; None where the graph was given.

    Examples
    --------
    >>> import numpy as np
    >>> from psidag import fit_dag
    >>> rng = np.random.default_rng(0)
    >>> dose = rng.normal(size=500)
    >>> level = 2 * dose + rng.normal(size=500)
    >>> effect = level - dose + rng.normal(size=500)
    >>> graph = [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    >>> solution = fit_dag(np.c_[dose, level, effect], graph, names=["dose", "level", "effect"])
    >>> round(solution.total_effect("dose", "effect"), 1)  # 2 · 1 through the level, −1 directly
    1.0
    >>> solution.intervene({"dose": 10.0}).mean.round().tolist()
    [10.0, 20.0, 10.0]
    """

    dag: DAG
    intercept: NDArray[np.float64]
    residual_variance: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    n_samples: float
    status: Status
    trace: tuple[Round, ...]
    engine: str
    selection: str
    candidate: Candidate
    standard_error: NDArray[np.float64] | None = None
    confidence: Confidence | None = None
    warnings: tuple[str, ...] = ()
    origin: Origin | None = None
    graph: PartialGraph = None  # type: ignore[assignment]
    noise: NoiseModel | None = None

    def __post_init__(self) -> None:
        if getattr(self, "graph", None) is None:
            object.__setattr__(self, "graph", PartialGraph.from_dag(self.dag))
        self.graph.rows_of(self.dag)  # a member of it, or an error that says why not

    @property
    def order(self) -> Order:
        """Vertices such that every edge points forward."""
        return self.dag.order

    @property
    def names(self) -> tuple[str, ...]:
        """Column names."""
        return self.dag.names

    def edges(self) -> EdgeTable:
        """The edges with weight, standard error given the order, and what directs them; strongest first.

        With their support among replicates, too, where a bootstrap was run.
        """
        support = None if self.confidence is None else self.confidence.of(self.dag)
        return EdgeTable(self.dag, self.standard_error, self.variance, self.graph, support)

    def with_confidence(self, confidence: Confidence | None) -> Solution:
        """The same solution, with the support of its edges in tables, files and summaries.

        Parameters
        ----------
        confidence : Confidence or None
            What :func:`psidag.bootstrap` has found for the same variables.
        """
        if confidence is not None:
            confidence.of(self.dag)  # the same variables, or an error that says so
        return replace(self, confidence=confidence)

    def diagnostics(self) -> Diagnostics:
        """How far directions rest on units, whether noise variances are equal, and how sure the search is."""
        return diagnose(self.dag, self.variance, self.residual_variance, self.n_samples, str(self.status))

    def score(self, data: Any, interventions: Any = None) -> float:
        """Mean log-likelihood of rows under the model with Gaussian noise; higher is better.

        It compares models of different noise, and changes by the same constant for all of them when units do.

        Parameters
        ----------
        data : DataFrame, Arrow table, array or path
            Rows of the same columns, in the same order.
        interventions : str, sequence or Interventions, optional
            What was set in each row; it is not judged, all else is.
        """
        model = self.dag.weights, self.intercept, self.residual_variance
        return row_log_likelihood(*model, self._rows(data, interventions))

    def total_effect(self, source: str, target: str, *, holding: Sequence[str] = ()) -> float:
        """How much the target changes when the source is set one unit higher, along all directed paths.

        Parameters
        ----------
        source, target : str
            Names of variables.
        holding : sequence of str
            Variables that are kept where they are meanwhile: paths through them do not count. Holding all
            variables between source and target leaves the direct effect.
        """
        held = [self.dag.index(name) for name in holding]
        return float(effects.total_effects(self.dag, self.dag.index(source), held)[self.dag.index(target)])

    def total_effects(self, source: str) -> dict[str, float]:
        """The total effect of one variable on each of its descendants."""
        effect = effects.total_effects(self.dag, self.dag.index(source))
        return {name: float(effect[self.dag.index(name)]) for name in self.dag.descendants(source)}

    def effect(
        self, source: str, target: str, data: Any = None, interventions: Any = None, *,
        replicates: int = 200, seed: Seed = 0,
    ) -> class_effects.Effect:  # fmt: skip
        """The total effect with its standard error, its 95 % interval, and its range over all DAGs that fit.

        Parameters
        ----------
        source, target : str
            Names of variables.
        data : DataFrame, Arrow table, array or path, optional
            The training rows: the interval then comes from this many draws of those without missing values, with the
            weights fitted anew in the same graph. Without them it is that of a normal distribution.
        interventions : str, sequence or Interventions, optional
            What was set in each of the rows.
        replicates : int
            How many draws.
        seed : int or Generator
            Of the draws.

        Notes
        -----
        Error and interval take the graph as given. Where ``graph`` leaves directions open, ``members`` has the values
        of all DAGs that agree with it, by the covariance that the fitted model implies (IDA).
        """
        dag, ends = self.dag, (self.dag.index(source), self.dag.index(target))
        value = self.total_effect(source, target)
        error = class_effects.effect_error(dag, self.residual_variance, self.standard_error, *ends)
        if data is None:
            bounds = class_effects.normal_interval(value, error)
        else:
            rows = self._rows(data, interventions, missing="drop")
            bounds = class_effects.resampled_interval(rows, dag, *ends, replicates, np.random.default_rng(seed))
        members = class_effects.effects_over_class(dag, self.graph, self.residual_variance, *ends)
        return class_effects.Effect(value, error, *bounds, members)

    def adjustment_set(self, source: str, target: str) -> list[str]:
        """What to adjust for in ``dag``; see :func:`psidag.graph.separation.adjustment_set`."""
        return separation.adjustment_set(self.dag, source, target)

    def d_separated(self, a: str | Sequence[str], b: str | Sequence[str], given: Sequence[str] = ()) -> bool:
        """Whether a and b are independent given others in ``dag``; see :func:`psidag.graph.separation.d_separated`."""
        return separation.d_separated(self.dag, a, b, given)

    def markov_blanket(self, name: str) -> list[str]:
        """What is needed to predict a variable; see :func:`psidag.graph.separation.markov_blanket`."""
        return separation.markov_blanket(self.dag, name)

    def counterfactual(self, data: Any, values: Mapping[str, float]) -> Any:
        """What rows would have been had some variables been set to values, everything else about them the same.

        The noise of each row is read off it, the equations of the variables that are set are cut, and what they cause
        follows.

        Parameters
        ----------
        data : DataFrame, Arrow table or array
            Rows of the same columns, in the same order.
        values : mapping from str to float
            What is set.

        Returns
        -------
        array, or a table of the kind that came in
        """
        rows = self._rows(data).X.astype(np.float64)
        given = self._settings(values)
        return labelled(effects.counterfactual(self.dag, self.intercept, rows, given), self.names, data)

    @property
    def model(self) -> LinearSEM:
        """The fitted model, with Gaussian noise: what samples and interventions come from."""
        return LinearSEM(self.dag, "gaussian", np.sqrt(self.residual_variance), self.intercept)

    def sample(self, n: int, seed: Seed, *, like: Any = None) -> Any:
        """Draw n rows from the fitted model: an array, or a labelled table of the same kind as ``like``."""
        return labelled(self.model.sample(n, seed), self.names, like)

    def intervene(self, values: Mapping[str, float]) -> LinearSEM:
        """The model after setting variables to values; it has ``mean`` and ``sample(n, seed)``.

        What points at these variables is cut, everything downstream follows.
        """
        return effects.intervene(self.model, self._settings(values))

    def _settings(self, values: Mapping[str, float]) -> dict[int, float]:
        """The values that variables are set to, by column."""
        given = {self.dag.index(name): float(value) for name, value in values.items()}
        broken = [name for name, value in values.items() if not np.isfinite(value)]
        if broken:
            raise InputError(f"an intervention sets a variable to a finite number; see {listing(broken)}")
        return given

    def predict(self, data: Any, target: str, *, given: Literal["others", "parents"] = "others") -> Any:
        """Predict one variable in new rows from the others; a column of the kind of table that came in.

        Parameters
        ----------
        data : DataFrame, Arrow table or array
            A table needs only the columns that are used; an array needs all of them, and the target's own is
            not looked at.
        target : str
            The variable to predict.
        given : {"others", "parents"}
            ``"others"`` is the best linear prediction, from causes and effects alike (the Markov blanket);
            ``"parents"`` is the target's own equation, which also holds under interventions.
        """
        j = self.dag.index(target)
        if given == "parents":
            predictor = prediction.from_parents(self.dag, self.intercept, j)
        elif given == "others":
            predictor = prediction.from_others(self.dag, self.mean, self.residual_variance, j)
        else:
            raise InputError(f"given must be 'others' or 'parents'; got {given!r}")
        return labelled_column(prediction.apply(predictor, data, self.names, target), target, data)

    def check_residuals(self, data: Any, interventions: Any = None) -> ResidualChecks:
        """Whether residuals have equal variances, are normal and linear in the parents; names what stands out.

        Parameters
        ----------
        data, interventions
            As in :meth:`score`: the training rows, or better, new ones. Those with missing values are left out.
        """
        return check_residuals(self._rows(data, interventions, missing="drop"), self.dag, self.intercept)

    def _rows(self, data: Any, interventions: Any = None, missing: str = "error") -> Table:
        names = None if interventions is None else self.names
        source = as_experiment(data, interventions, names=names, missing=missing, least_rows=1, whole=False)
        if not in_memory(source):
            raise InputError("the rows themselves are needed, as a table or an array")
        if source.d != self.dag.d:
            raise InputError(f"the model has {self.dag.d} columns, these rows have {source.d}")
        return source

    def save(self, path: str | Path) -> None:
        """Write everything to one file (customarily ``.psidag``), from which :meth:`load` restores it."""
        storage.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Solution:
        """Read what :meth:`save` has written; a file that is not whole is refused."""
        return storage.load(path)

    def content(self) -> Content:
        """The graph with what is known of its edges and vertices, for :func:`psidag.exchange.write_graph`."""
        values: dict[str, NDArray[Any]] = {"standardised": self.dag.weights.data * self._scale()}
        if self.standard_error is not None:
            values = {"standard_error": self.standard_error} | values
        values |= direction_columns(self.dag, self.graph)
        about: dict[str, Any] = {}
        if self.confidence is not None:
            values |= self.confidence.of(self.dag)
            about = {"replicates": self.confidence.replicates, "resampling": self.confidence.method}
        return Content(
            self.dag,
            edge_values={key: value.tolist() for key, value in values.items()},
            node_values={
                "intercept": self.intercept.tolist(),
                "residual_variance": self.residual_variance.tolist(),
                "mean": self.mean.tolist(),
            },
            about={
                "engine": self.engine.split(" ")[0],
                "engine_note": self.engine,
                "selection": self.selection,
                "status": self.status.code,
                "message": self.status.message,
                "n_samples": self.n_samples,
                "order": [self.names[v] for v in self.order],
                "warnings": list(self.warnings),
                **self._provenance(),
                **about,
            },
        )

    def _scale(self) -> NDArray[np.float64]:
        """What turns the weights of edges into those between variables of variance one; nan for constants."""
        W, sd = self.dag.weights.tocoo(), np.sqrt(self.variance)
        sd = np.where(sd > 0, sd, np.nan)
        scale: NDArray[np.float64] = sd[W.row] / sd[W.col]
        return scale

    def _provenance(self) -> dict[str, Any]:
        """What it takes to learn the same again, for machines."""
        noise = self.noise
        about: dict[str, Any] = {}
        if noise is not None:
            about = {"noise": noise.chosen, "noise_reason": noise.reason, "noise_p_value": noise.p_value}
            about |= {"noise_shape": list(noise.shape), "noise_lost": noise.lost}
        if self.origin is None:
            return about
        return about | {
            "seed": self.origin.seed,
            "call": self.origin.call,
            "steps": list(self.origin.steps),
        }

    def __str__(self) -> str:
        return summarise(self)

    def _repr_html_(self) -> str:
        """What notebooks show: the head of the summary, a picture of a small graph, and the edges as a table."""
        head = str(self).partition("\n\n")[0]
        found = direction_columns(self.dag, self.graph)["directed"]
        drawn = picture(self.dag, found, self.dag.weights.data * self._scale()) or ""
        return f"<pre>{html.escape(head)}</pre>{drawn}{self.edges()._repr_html_()}"

    def __repr__(self) -> str:
        return (
            f"Solution({self.dag.d} variables, {self.dag.n_edges} edges, {len(self.trace)} rounds of "
            f"{self.engine}; {self.status})"
        )
