"""How sure: what many graphs, learned from rows drawn again, have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from psidag.graph.acyclic import keep_acyclic
from psidag.graph.constraints import BoundConstraints
from psidag.graph.dag import DAG
from psidag.run.status import Status
from psidag.solution.edges import SupportTable
from psidag.solution.stability import Assumption, Stability, expected_false, least_threshold
from psidag.system.archive import Kind, damage_named, read_archive, write_archive
from psidag.system.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_KIND = Kind("psidag-confidence", 1, "file of psidag's draws")
_PER_PAIR = ("sources", "targets", "times", "directed", "weight_mean", "weight_scatter")


@dataclass(frozen=True, eq=False)
class Confidence:
    """How often each edge is found when the rows are drawn again; ``print`` shows a summary.

    Only pairs that were seen at least once are kept, so that it stays small with tens of thousands of variables.
    Build one with :func:`psidag.bootstrap`.

    Attributes
    ----------
    constraints : BoundConstraints
        The prior knowledge that held in every replicate, with the names of the variables.
    recipe : mapping from str to str
        What the replicates were made with: the method and its fraction, the engine, the data. A run goes on only with
        the same.
    entropy : tuple of int
        The seed.
    status : Status
        Whether all replicates are there, with advice if not.
    replicates : int
        How many are there.
    unsettled : int
        How many of them ended at a limit instead of by the engine's own rule.
    sources, targets : arrays of int
        The ends of each pair, sorted.
    times : array of int
        How many replicates have the edge in their DAG.
    directed : array of int
        How many of these are sure of its direction; the others have it so in one of several DAGs that fit equally well.
    weight_mean, weight_scatter : arrays of float
        Mean of its weight over these, and the sum of squared deviations from it.

    Examples
    --------
    >>> from psidag import bootstrap
    >>> from psidag.simulate import simulate
    >>> confidence = bootstrap(simulate("ER1", d=5, n=500, seed=0).X, noise="equal", replicates=10, random_state=0)
    >>> confidence.replicates, confidence.consensus(threshold=0.5).d
    (10, 5)
    """

    constraints: BoundConstraints
    recipe: Mapping[str, str]
    entropy: tuple[int, ...]
    status: Status
    replicates: int = 0
    unsettled: int = 0
    sources: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    targets: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    times: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    directed: Integers = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    weight_mean: Floats = field(default_factory=lambda: np.empty(0))
    weight_scatter: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def names(self) -> tuple[str, ...]:
        """Column names."""
        return self.constraints.names

    @property
    def method(self) -> str:
        """``"bootstrap"`` or ``"subsample"``."""
        return self.recipe["method"]

    @property
    def connection(self) -> Floats:
        """The share of the replicates that join the two ends of each edge, with whatever direction."""
        return (self.times + self._count(self.times, self.targets, self.sources)) / max(self.replicates, 1)

    @property
    def support(self) -> Floats:
        """The share of the replicates that direct each edge so."""
        return self.directed / max(self.replicates, 1)

    @property
    def reverse_support(self) -> Floats:
        """The share of the replicates that direct it the other way."""
        return self._count(self.directed, self.targets, self.sources) / max(self.replicates, 1)

    @property
    def weight_sd(self) -> Floats:
        """Standard deviation of each weight over the replicates that have the edge; nan for those seen once."""
        freedom = np.where(self.times > 1, self.times - 1, np.nan)
        return np.sqrt(self.weight_scatter / freedom)

    def add(
        self, weights: sp.csr_array, directed: NDArray[np.bool_] | None = None, *, settled: bool = True
    ) -> Confidence:
        """One more replicate, by Welford's update of mean and scatter.

        Parameters
        ----------
        weights : csr_array
            Of its DAG.
        directed : array of bool, optional
            Which of its edges, in the order of ``weights.data``, have a direction that is known; all by default.
        settled : bool
            Whether its engine came to an end of its own.
        """
        found = sp.coo_array(weights)
        d = len(self.names)
        new = found.row.astype(np.int64) * d + found.col
        old = self._keys(self.sources, self.targets)
        keys = np.union1d(old, new)
        times = np.zeros(len(keys), dtype=np.int64)
        certain = np.zeros(len(keys), dtype=np.int64)
        mean, scatter = np.zeros(len(keys)), np.zeros(len(keys))
        known, seen = np.searchsorted(keys, old), np.searchsorted(keys, new)
        times[known], mean[known], scatter[known] = self.times, self.weight_mean, self.weight_scatter
        certain[known] = self.directed
        times[seen] += 1
        certain[seen] += 1 if directed is None else directed
        gap = found.data - mean[seen]
        mean[seen] += gap / times[seen]
        scatter[seen] += gap * (found.data - mean[seen])
        return replace(
            self,
            replicates=self.replicates + 1,
            unsettled=self.unsettled + (not settled),
            sources=keys // d,
            targets=keys % d,
            times=times,
            directed=certain,
            weight_mean=mean,
            weight_scatter=scatter,
        )

    def of(self, dag: DAG) -> dict[str, Floats]:
        """``connection``, ``support`` and ``reverse_support`` of the edges of a graph, in the order of its edges."""
        if dag.names != self.names:
            raise InputError("the graph and the replicates do not have the same variables in the same order")
        edges = dag.weights.tocoo()
        total = self.replicates or np.nan
        so, reverse = (edges.row, edges.col), (edges.col, edges.row)
        return {
            "connection": (self._count(self.times, *so) + self._count(self.times, *reverse)) / total,
            "support": self._count(self.directed, *so) / total,
            "reverse_support": self._count(self.directed, *reverse) / total,
        }

    def edges(self, at_least: float = 0.0) -> SupportTable:
        """The edges whose ends at least this share of the replicates join, the best supported first.

        A pair stands here once, in the direction that most replicates are sure of, or else have in their DAG.
        """
        return self._table(self._majority(at_least))

    def consensus(self, threshold: float = 0.5) -> DAG:
        """The DAG that the replicates agree on; it is acyclic and keeps the constraints whatever they say.

        Candidates are the pairs that at least this share of the replicates join in either direction, each as the edge
        that at least half of this share have. They enter by descending support, each unless it would close a cycle with
        those before it (the ranked pairs of Tideman 1987): so a pair is joined as most replicates direct it unless
        better supported edges stand against that. Where replicates leave the direction open, it is that of most of
        their DAGs, and says nothing. Weights are means over the replicates that have the edge; :func:`psidag.fit_dag`
        fits those of all rows.

        Parameters
        ----------
        threshold : float
            Share of the replicates.
        """
        self._need_replicates()
        if not 0 <= threshold <= 1:
            raise InputError(f"threshold must be a share of the replicates, from 0 to 1; got {threshold!r}")
        candidates = (self.connection >= threshold) & (self.times / self.replicates >= threshold / 2)
        ranked = self._ranked(np.flatnonzero(candidates))
        kept, order = keep_acyclic(self.sources[ranked], self.targets[ranked], self.constraints)
        ranked = ranked[kept]
        d = len(self.names)
        ends = self.sources[ranked], self.targets[ranked]
        found = sp.coo_array((self.weight_mean[ranked], ends), shape=(d, d))
        return DAG(self.constraints.with_required(found), order, self.names)

    def stability(
        self,
        false_edges: float = 1.0,
        *,
        threshold: float | None = None,
        directed: bool = True,
        assumption: Assumption = "unimodal",
    ) -> Stability:
        """Stability selection: the edges in most subsamples, with a bound on how many are there by chance.

        The bound is on edges that a subsample has no more often than an average pair of variables. It is not on edges
        that data of this kind keep suggesting, such as the reverse of a true edge whose direction is hard to
        tell; ``directed=False`` asks for joined pairs only and so leaves directions out of it.

        Parameters
        ----------
        false_edges : float
            The threshold is the lowest at which no more than this number is expected.
        threshold : float, optional
            A threshold of one's own, above ½, for which the bound is then given.
        directed : bool
            Whether i → j and j → i are two edges; if not, their supports are added.
        assumption : {"unimodal", "none"}
            Of the bound; see :func:`psidag.solution.stability.expected_false`.
        """
        self._need_replicates()
        if self.method != "subsample":
            raise InputError(
                "the bound of stability selection holds for complementary pairs of subsamples: "
                "use bootstrap(..., method='subsample')"
            )
        if threshold is not None and not 0.5 < threshold <= 1:
            raise InputError(f"threshold must be above 0.5 and at most 1; got {threshold!r}")
        average = float((self.directed if directed else self.times).sum()) / self.replicates
        known = (average, self._possible(directed), self.replicates // 2, assumption)
        if threshold is None:
            threshold = least_threshold(false_edges, *known)
        chosen = np.flatnonzero(self.support >= threshold) if directed else self._majority(threshold)
        return Stability(
            self._table(chosen), threshold, expected_false(threshold, *known), average, known[1]
        )  # fmt: skip

    def save(self, path: str | Path) -> None:
        """Write everything to one file, from which :meth:`load` restores it."""
        write_archive(path, _KIND, self.head(), self.arrays())

    @classmethod
    def load(cls, path: str | Path) -> Confidence:
        """Read what :meth:`save` has written; a file that is not whole is refused."""
        head, arrays = read_archive(path, _KIND)
        with damage_named(repr(str(path))):
            return cls.rebuild(head, arrays)

    def head(self) -> dict[str, Any]:
        """What goes into a file besides the arrays."""
        return {
            "names": self.names,
            "recipe": dict(self.recipe),
            "entropy": self.entropy,
            "status": self.status,
            "replicates": self.replicates,
            "unsettled": self.unsettled,
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that go into a file."""
        known = self.constraints
        prior = {"required": known.required, "forbidden": known.forbidden, "tier": known.tier}
        return {key: getattr(self, key) for key in _PER_PAIR} | prior

    @classmethod
    def rebuild(cls, head: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Confidence:
        """From head and arrays to the object; a ValueError if they do not fit each other."""
        names = tuple(map(str, head["names"]))
        d, count = len(names), len(arrays["times"])
        # Files of earlier versions took every direction for known.
        columns = {"directed": arrays["times"]} | {key: arrays[key] for key in _PER_PAIR if key in arrays}
        if len(columns) < len(_PER_PAIR):
            raise ValueError("a column is missing")
        wrong = [key for key, column in columns.items() if column.shape != (count,)]
        if wrong:
            raise ValueError(f"{wrong[0]} is not of length {count}")
        keys = columns["sources"] * d + columns["targets"]
        inside = [(columns[key] >= 0).all() and (columns[key] < d).all() for key in ("sources", "targets")]
        if not all(inside) or (np.diff(keys) <= 0).any() or arrays["tier"].shape != (d,):
            raise ValueError("the pairs are not those of these variables")
        known = BoundConstraints(names, arrays["required"], arrays["forbidden"], arrays["tier"])
        known.check()
        return cls(
            constraints=known,
            recipe={str(key): str(value) for key, value in head["recipe"].items()},
            entropy=tuple(map(int, head["entropy"])),
            status=Status(*head["status"]),
            replicates=int(head["replicates"]),
            unsettled=int(head["unsettled"]),
            **columns,
        )

    def _keys(self, sources: NDArray[np.integer], targets: NDArray[np.integer]) -> Integers:
        return sources.astype(np.int64) * len(self.names) + targets

    def _count(self, column: Integers, sources: NDArray[np.integer], targets: NDArray[np.integer]) -> Integers:
        """A column of counts at these edges, 0 at those that no replicate has."""
        if not len(self.times):
            return np.zeros(len(sources), dtype=np.int64)
        keys, wanted = self._keys(self.sources, self.targets), self._keys(sources, targets)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[place] == wanted, column[place], 0)

    def _majority(self, threshold: float) -> Integers:
        """Pairs joined in this share of the replicates, each in the direction that most of them have."""
        there = np.stack([self.directed, self.times, -self.sources])
        back = np.stack([self._count(column, self.targets, self.sources) for column in (self.directed, self.times)])
        back = np.concatenate([back, -self.targets[None]])
        differ = np.argmax(there != back, axis=0)
        each = np.arange(len(self.times))
        first = there[differ, each] > back[differ, each]
        return np.flatnonzero((self.connection >= threshold) & first)

    def _ranked(self, chosen: Integers) -> Integers:
        """The best supported first, of those the ones more often there, and of larger weight."""
        strength = np.abs(self.weight_mean[chosen])
        return chosen[np.lexsort((-strength, -self.times[chosen], -self.directed[chosen]))]

    def _table(self, chosen: Integers) -> SupportTable:
        ranked = self._ranked(chosen)
        values = {
            "connection": self.connection[ranked],
            "support": self.support[ranked],
            "reverse_support": self.reverse_support[ranked],
            "weight": self.weight_mean[ranked],
            "weight_sd": self.weight_sd[ranked],
        }
        return SupportTable(self.names, (self.sources[ranked], self.targets[ranked]), values)

    def _possible(self, directed: bool) -> int:
        """How many edges, or joined pairs, the constraints permit."""
        d = len(self.names)
        if self.constraints.empty:
            return d * (d - 1) if directed else d * (d - 1) // 2
        allowed = self.constraints.allowed()
        return int(allowed.sum() if directed else np.triu(allowed | allowed.T).sum())

    def _need_replicates(self) -> None:
        if not self.replicates:
            raise InputError("no replicate has ended yet: give the bootstrap more time")

    def __str__(self) -> str:
        joined, sure = len(self.edges(0.9)), int((self.support >= 0.9).sum())
        lines = [
            f"{self.replicates} replicates ({self.method}) of {len(self.names)} variables",
            f"  status  {self.status}",
            f"  edges   {joined} pairs joined in at least 90 % of the replicates, {sure} of them in one direction; "
            f"{len(self.edges(0.5))} joined in at least half",
            "",
            *("  " + line for line in self.edges(0.5).to_text(10).splitlines()),
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Confidence({len(self.names)} variables, {self.replicates} replicates; {self.status})"
