"""``PsiDAG``, the scikit-learn front door: validate, learn, store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from psidag.data.experiment import apart, as_experiment
from psidag.data.interventions import Interventions, Kind
from psidag.data.labelled import LabelledTable
from psidag.data.missing import Missing
from psidag.data.moments import Moments
from psidag.data.row_counts import Resampling
from psidag.data.sources import Source, in_memory
from psidag.graph.constraints import Constraints
from psidag.graph.dag import default_names
from psidag.learning.bootstrap import bootstrap
from psidag.learning.learn import Interrupted, learn_dag
from psidag.learning.online import OnlineLearner, load_stream
from psidag.learning.plan import Options
from psidag.learning.selection import squared_residuals_on_moments
from psidag.run.loop import Callback, Engine
from psidag.scores.named import Noise
from psidag.solution import Confidence, Solution
from psidag.solution.likelihood import free_log_likelihood, log_likelihood, squared_residuals
from psidag.system.errors import InputError
from psidag.system.parallel import Jobs

_RESULTS = ("solution_", "adjacency_", "order_", "intercept_", "status_", "trace_", "n_iter_")
#: The parameters on which the answer depends, whichever way it is learned.
_ANSWER = ("solver", "noise", "threshold", "constraints", "missing", "max_time", "random_state", "evidence")


class PsiDAG(BaseEstimator):  # type: ignore[misc]
    """Learn a directed acyclic graph of linear relations from a table.

    Parameters
    ----------
    solver : str or options object, default="auto"
        Which engine learns: ``"auto"``, ``"sparse"``, ``"exact"``, ``"stochastic"``, or an options object such as
        ``Stochastic(batch_size=256)``.
    noise : {"auto", "equal", "unequal", "nongaussian"}, default="auto"
        What is assumed of the noise; the data are asked by default. ``solution_.noise`` says what was chosen, and why.
    threshold : float, optional
        Keep weights of at least this size (0.3 in the paper); by default edges are chosen by evidence.
    constraints : Constraints, optional
        Required edges, forbidden edges and tiers; they always hold in the result.
    missing : {"error", "drop", "mean", "pairwise"}, default="error"
        What to do about missing values (NaN): refuse with advice, leave out rows, fill in the column mean, or take
        each correlation from the rows that have both columns.
    max_time : float, optional
        Seconds after which the best DAG so far is kept.
    random_state : int, Generator or RandomState, optional
        The same seed gives the same bits on one machine, on any number of threads, unless ``max_time`` ended the run.
        Another processor rounds differently and may end in another optimum of equal standing.
    half_life : float, optional
        For ``partial_fit``: after this many more rows a row weighs half, so that a process that drifts is followed. By
        default nothing is forgotten.
    evidence : bool, optional
        Whether to measure the evidence for each direction; by default up to 1,000 columns.
    n_jobs : int or cluster, optional
        Threads, all cores by default; or a :func:`psidag.cluster`, whose workers share the per-node work.
    progress : bool, default=False
        Show a progress bar.
    callback : callable, optional
        Called with ``(round, candidate)`` after each round.

    Attributes
    ----------
    adjacency_ : csr_array of shape (d, d)
        ``adjacency_[i, j]`` is the weight of the edge i → j.
    order_ : array of shape (d,)
        Columns, causes first: every edge points forward in it.
    intercept_ : array of shape (d,)
        x_j = intercept_j + Σ_i adjacency_[i, j] x_i + noise_j.
    solution_ : Solution
        All of it, with names: the DAG, the status, the trace.
    status_ : Status
        Why the run ended, with advice.
    trace_ : tuple of Round
        One row a round.
    n_iter_ : int
        Number of rounds.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from psidag import PsiDAG
    >>> from psidag.simulate import simulate
    >>> problem = simulate("ER2", d=20, n=2000, seed=1)
    >>> model = PsiDAG(random_state=0).fit(problem.X)
    >>> model.adjacency_.shape
    (20, 20)
    """

    def __init__(
        self,
        solver: str | Engine = "auto",
        *,
        noise: Noise = "auto",
        threshold: float | None = None,
        constraints: Constraints | None = None,
        missing: Missing = "error",
        max_time: float | None = None,
        random_state: Any = None,
        half_life: float | None = None,
        evidence: bool | None = None,
        n_jobs: Jobs = None,
        progress: bool = False,
        callback: Callback | None = None,
    ) -> None:
        self.solver = solver
        self.noise = noise
        self.threshold = threshold
        self.constraints = constraints
        self.missing = missing
        self.max_time = max_time
        self.random_state = random_state
        self.half_life = half_life
        self.evidence = evidence
        self.n_jobs = n_jobs
        self.progress = progress
        self.callback = callback

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, interventions: Any = None) -> Self:
        """Learn the graph of a table.

        Parameters
        ----------
        X : array, DataFrame, Arrow table, path, Dask array or DataFrame, iterator of batches, or Moments
            Rows are samples, columns are variables; it is never written to. A path is that of a file, a folder or a
            pattern such as ``"folder/*.parquet"``, read in batches where it is too large to be held.
        y : None
            Ignored.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        interventions : str, sequence or Interventions, optional
            What was set in each row of an experiment, or the column that says so; see :func:`psidag.learn_dag`.

        Returns
        -------
        self
        """
        before = dict(self.__dict__)
        self._forget()
        try:
            X, given = _without_labels(X, interventions)
            source = as_experiment(X, given, sample_weight=sample_weight, missing=self.missing)
            self._note_columns(X, source.names)
            self._store(self._learn(source))
        except Interrupted as stopped:
            self._store(stopped.solution)
            raise
        except BaseException:
            # What was learned before stands: a fit that comes to nothing takes nothing away.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, interventions: Any = None
    ) -> Self:
        """Take in more rows of a stream; the graph of all rows so far is there whenever it is looked at.

        Parameters
        ----------
        X : array, DataFrame or Arrow table
            The next rows.
        y : None
            Ignored.
        sample_weight : array of shape (n,), optional
            Weights of the rows, where the engine works on moments.
        interventions : str, sequence or Interventions, optional
            What was set in each row, with every batch or with none.

        Returns
        -------
        self
        """
        started = hasattr(self, "_online")
        X, given = _without_labels(X, interventions)
        batch = self._rows(X, sample_weight, "partial_fit", seen=started, interventions=given)
        if not in_memory(batch):
            raise InputError("partial_fit takes rows in memory, a batch at a time; fit takes what is larger, whole")
        if not started:
            self._forget()
            self._note_columns(X, batch.names)
            self._online = self._learner(batch.names, None if given is None else given.kind)
        self._online.update(batch.X, batch.sample_weight, getattr(batch, "targets", None))
        self._drop_results()
        return self

    def save_stream(self, path: str | Path) -> None:
        """Write what ``partial_fit`` has gathered to one file, from which :meth:`load_stream` goes on.

        The file holds the moments of the rows, not the rows, of an experiment also the rows of targets that have few
        of them; and nothing that is code. It is written whole or not at all. The options of the model are not in it.
        """
        if not hasattr(self, "_online"):
            raise InputError("there is no stream to save: partial_fit has not been called")
        self._online.save(path)

    def load_stream(self, path: str | Path) -> Self:
        """Go on from what :meth:`save_stream` has written, with the options of this model."""
        known, random = load_stream(path)
        learner = self._learner(known.names, getattr(known, "kind", None))
        learner.restore(known, random)
        self._forget()
        self._online = learner
        self.n_features_in_ = known.d
        self.feature_names_in_ = np.array(known.names, dtype=object)
        if known.names == default_names(known.d):
            del self.feature_names_in_  # as for an array, which has none
        return self

    def score(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, interventions: Any = None
    ) -> float:
        """Mean log-likelihood of new rows under the model with Gaussian noise; higher is better.

        It compares models of different noise, and changes by the same constant for all of them when units do.

        Parameters
        ----------
        X : array, DataFrame or Arrow table
            Rows of the same columns.
        y : None
            Ignored.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        interventions : str, sequence or Interventions, optional
            What was set in each row: what was set is not judged, all else is. Rows of targets that the model was not
            fitted to are the hardest test of it.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        X, given = _without_labels(X, interventions)
        table = self._rows(X, sample_weight, "score", seen=True, interventions=given)
        if isinstance(table, LabelledTable):
            variance = self.solution_.residual_variance
            return free_log_likelihood(
                self.adjacency_, self.intercept_, variance, table.X, table.targets, table.sample_weight
            )
        if in_memory(table):
            found = squared_residuals(self.adjacency_, self.intercept_, table.X, table.sample_weight)
        else:
            found = squared_residuals_on_moments(table.moments(), self.adjacency_, self.intercept_)
        return log_likelihood(found, self.solution_.residual_variance)

    def bootstrap(
        self,
        X: Any,
        sample_weight: ArrayLike | None = None,
        *,
        replicates: int = 100,
        method: Resampling = "bootstrap",
        fraction: float = 0.5,
        resume: Confidence | str | Path | None = None,
        interventions: Any = None,
    ) -> Confidence:
        """How sure: learn with the same options from many draws of the rows; see :func:`psidag.bootstrap`.

        If the model is fitted, ``solution_`` carries the answer from then on: its edges have a support.

        Parameters
        ----------
        X : array, DataFrame, Arrow table, path, Dask array or DataFrame, or Moments
            The rows that the model was, or will be, fitted to.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        replicates, method, fraction, resume, interventions
            As in :func:`psidag.bootstrap`.

        Returns
        -------
        Confidence
        """
        confidence = bootstrap(
            X,
            replicates=replicates,
            method=method,
            fraction=fraction,
            sample_weight=sample_weight,
            resume=resume,
            interventions=interventions,
            **{key: value for key, value in self._options().items() if key != "evidence"},
        )
        solution: Solution | None = getattr(self, "solution_", None)
        if solution is not None:
            self.solution_ = solution.with_confidence(confidence)
        return confidence

    def _rows(
        self, X: Any, sample_weight: ArrayLike | None, method: str, *, seen: bool, interventions: Any = None
    ) -> Source:
        """The rows of one table or array, with the columns that were seen before."""
        if isinstance(X, Moments) or hasattr(X, "__next__"):
            raise InputError(f"{method} takes one table or array at a time; iterators and moments go to fit")
        if seen and not isinstance(X, str | Path):
            validate_data(self, X, reset=False, skip_check_array=True)
        # Means and pairs are those of all rows; a batch, or rows to be judged, can only be made smaller.
        missing = "drop" if self.missing == "drop" else "error"
        # A batch that gaps leave nothing of is one that others make up for.
        least = 0 if missing == "drop" and method == "partial_fit" else 1
        source = as_experiment(
            X, interventions, sample_weight=sample_weight, missing=missing, least_rows=least, whole=False
        )
        if seen and source.d != self.n_features_in_:
            raise InputError(f"X has {source.d} features, but {self.n_features_in_} features were seen before")
        return source

    def _learner(self, names: Sequence[str], kind: Kind | None = None) -> OnlineLearner:
        answer = {name: getattr(self, name) for name in _ANSWER}
        return OnlineLearner(Options(half_life=self.half_life, **answer), names, n_jobs=self.n_jobs, kind=kind)

    def _learn(self, source: Any) -> Solution:
        return learn_dag(source, callback=self.callback, **self._options())

    def _options(self) -> dict[str, Any]:
        """The parameters that learning once and learning many times share."""
        return {name: getattr(self, name) for name in (*_ANSWER, "n_jobs", "progress")}

    def _note_columns(self, X: Any, names: tuple[str, ...]) -> None:
        """What scikit-learn remembers of the input: the number of columns, and their names if it had any."""
        whole = not hasattr(X, "__dask_graph__")
        if whole and (isinstance(X, np.ndarray | list) or hasattr(X, "columns")):
            validate_data(self, X, skip_check_array=True)
        else:
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)

    def _store(self, solution: Solution) -> None:
        self.solution_ = solution
        self.adjacency_ = solution.dag.weights
        self.order_ = solution.order
        self.intercept_ = solution.intercept
        self.status_ = solution.status
        self.trace_ = solution.trace
        self.n_iter_ = len(solution.trace)

    def _forget(self) -> None:
        self._drop_results()
        self.__dict__.pop("_online", None)

    def _drop_results(self) -> None:
        for name in _RESULTS:
            self.__dict__.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        # After partial_fit the results are learned when they are first looked at.
        if name in _RESULTS and "_online" in self.__dict__:
            self._store(self._online.solution())
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _without_labels(X: Any, interventions: Any) -> tuple[Any, Interventions | None]:
    """A data frame without the column of labels, which is no feature, and the labels."""
    given = Interventions.of(interventions)
    if given is None or not hasattr(X, "columns") or hasattr(X, "__dask_graph__"):
        return X, given
    return apart(X, given)
