"""Rows of an experiment by what was set in them: the statistic that every equation takes its free rows from."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from psidag.data.interventions import Kind, Targets
from psidag.data.moments import Moments
from psidag.system.errors import InputError
from psidag.system.parallel import Workers, one_blas_thread

Floats = NDArray[np.float64]
#: The columns that were set together, ascending.
Setting: TypeAlias = tuple[int, ...]


class _Rows(NamedTuple):
    """Some rows of a table, which is not copied, and their weights."""

    X: NDArray[np.floating]
    at: NDArray[np.intp] | None
    weight: Floats | None

    def few(self, columns: NDArray[np.intp]) -> Floats:
        found = self.X[:, columns] if self.at is None else self.X[self.at[:, None], columns]
        return np.asarray(found, dtype=np.float64)

    def __len__(self) -> int:
        return len(self.X) if self.at is None else len(self.at)


class Sums(NamedTuple):
    """Number of some rows, and the sums of their entries and of the products, about a centre."""

    n: float
    total: Floats
    products: Floats


class Means(NamedTuple):
    """Number, means and variances of the rows in which the same columns were set."""

    setting: Setting
    n: float
    mean: Floats
    variance: Floats


class Conditions:
    """Counts and covariances of rows in which some variables were set, for each equation over its own free rows.

    Rows in which j was set do not enter the equation of j, but do enter those of its children (Hauser & Bühlmann 2012).
    There is one mean for all rows that enter: the shifts between conditions are what tells directions. Where
    interventions only shift (``kind="shift"``), rows in which j was set enter its equation with a mean of their own.
    Rows of different batches have means of their own in every equation.

    What is kept are the moments of all rows, once, and the rows of each condition, or their moments where those are
    fewer numbers. Two such statistics merge. The products among a node and its parents without the rows in which it was
    set take O(rows of the target · k²).

    Parameters
    ----------
    names : sequence of str
        The columns.
    kind : {"perfect", "shift"}
        What setting does; see :class:`~psidag.data.interventions.Interventions`.

    Examples
    --------
    >>> from psidag.data.interventions import Interventions
    >>> rows = np.array([[0.0, 1.0], [2.0, 3.0], [9.0, 4.0]])
    >>> data = Conditions.from_rows(rows, Interventions([None, None, "a"]).bind(("a", "b")))
    >>> data.count(0), data.count(1)
    (2.0, 3.0)
    >>> data.covariance(0, np.array([0]))
    array([[1.]])
    """

    def __init__(self, names: Sequence[str], kind: Kind = "perfect") -> None:
        self.names, self.kind = tuple(names), kind
        #: Scatter of all rows about the means of their batches.
        self.scatter: Floats = np.zeros((len(self.names), len(self.names)))
        #: Rows that are not among them because values are missing.
        self.left_out = 0
        self._batches: dict[Hashable, tuple[float, Floats]] = {}
        self._parts: dict[tuple[Setting, Hashable], list[_Rows | Moments]] = {}
        self._own: dict[int, dict[Hashable, list[_Rows | Moments]]] | None = None

    @classmethod
    def from_rows(
        cls,
        X: NDArray[np.floating],
        targets: Targets,
        sample_weight: Floats | None = None,
        workers: Workers | None = None,
    ) -> Conditions:
        """The statistic of a table in memory, which is not copied."""
        targets.check(len(X))
        return cls(targets.names, targets.kind).update(X, targets, sample_weight, workers, held=True)

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.names)

    @property
    def settings(self) -> list[Setting]:
        """What was set together in some rows; the empty setting is not among them."""
        return sorted({setting for setting, _ in self._parts})

    @property
    def has_controls(self) -> bool:
        """Whether there are rows in which nothing was set."""
        return self.means()[0].n > 0

    @property
    def total(self) -> float:
        """Number of all rows."""
        return float(sum(count for count, _ in self._batches.values()))

    def moments(self) -> Moments:
        """Of all rows, without differences between batches."""
        found = Moments(self.d, self.names)
        found.count = self.total
        if found.count:
            found.mean = np.sum([count * mean for count, mean in self._batches.values()], axis=0) / found.count
        found.scatter = self.scatter.copy()
        return found

    def update(
        self,
        X: NDArray[np.floating],
        targets: Targets,
        sample_weight: Floats | None = None,
        workers: Workers | None = None,
        *,
        held: bool = False,
    ) -> Conditions:
        """Take in rows; those that are ``held`` by somebody are not copied. Returns itself."""
        self._own = None
        batch = targets.batch
        for label in [None] if batch is None else sorted(set(batch.tolist()), key=str):
            inside = None if batch is None else np.flatnonzero(batch == label)
            rows = X if inside is None else X[inside]
            weight = sample_weight if sample_weight is None or inside is None else sample_weight[inside]
            # Block by block, as a table has its moments.
            self._absorb(label, Moments.from_rows(rows, self.names, weight, workers))
        for number, setting in enumerate(targets.conditions):
            if setting:
                for label, at in targets.rows_in(number):
                    self._keep(
                        (setting, label), _Rows(X, at, None if sample_weight is None else sample_weight[at]), held
                    )
        return self

    def merge(self, other: Conditions) -> Conditions:
        """The statistic of both sets of rows, as a new one."""
        if (other.names, other.kind) != (self.names, self.kind):
            raise InputError("experiments on different columns, or of different kinds, cannot be merged")
        merged = Conditions(self.names, self.kind)
        for part in (self, other):
            merged.scatter += part.scatter
            merged.left_out += part.left_out
            for label, (count, mean) in part._batches.items():
                merged._join(label, count, mean)
            for key, held in part._parts.items():
                merged._parts.setdefault(key, []).extend(held)
        for key in merged._parts:
            merged._compress(key)
        return merged

    @one_blas_thread()
    def without(self, settings: Collection[Setting]) -> Conditions:
        """The statistic without the rows in which any of these was set."""
        left = Conditions(self.names, self.kind)
        left.scatter = self.scatter.copy()
        left._batches = dict(self._batches)
        for (setting, label), parts in self._parts.items():
            if setting not in settings:
                left._parts[setting, label] = parts
                continue
            count, mean = left._batches[label]
            for part in parts:
                gone = _sums(part, np.arange(self.d), mean)
                rest = count - gone.n
                left.scatter -= gone.products
                if rest > 0:
                    left.scatter -= np.outer(gone.total, gone.total) / rest
                count, mean = rest, mean - gone.total / rest if rest > 0 else mean
            left._batches[label] = count, mean
        left._batches = {label: held for label, held in left._batches.items() if held[0] > 0}
        return left

    def stored(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What :meth:`restored` makes this statistic of again: a head that JSON takes, and arrays."""
        batches = [[label, count] for label, (count, _) in self._batches.items()]
        arrays = {"scatter": self.scatter, "mean": np.reshape([m for _, m in self._batches.values()], (-1, self.d))}
        parts: list[list[Any]] = []
        for (setting, label), part in ((key, part) for key, held in self._parts.items() for part in held):
            k = len(parts)
            if isinstance(part, Moments):
                arrays |= {f"mean{k}": part.mean, f"scatter{k}": part.scatter}
                parts.append([setting, label, part.count])
                continue
            arrays[f"rows{k}"] = part.few(np.arange(self.d))
            if part.weight is not None:
                arrays[f"weight{k}"] = part.weight
            parts.append([setting, label, None])
        return {"kind": self.kind, "left_out": self.left_out, "batches": batches, "parts": parts}, arrays

    @classmethod
    def restored(cls, names: Sequence[str], head: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Conditions:
        """The statistic that was :meth:`stored`; a ValueError or KeyError if these are not the parts of one."""

        def array(key: str, *shape: int) -> Floats:
            held = np.asarray(arrays[key], dtype=np.float64)
            if held.shape != shape or not np.isfinite(held).all():
                raise ValueError(f"{key} does not fit the columns, or is not finite")
            return held

        if head["kind"] not in get_args(Kind):
            raise ValueError(f"interventions of the kind {head['kind']!r}")
        found = cls(names, head["kind"])
        d, found.left_out = found.d, int(head["left_out"])
        found.scatter, means = array("scatter", d, d), array("mean", len(head["batches"]), d)
        found._batches = {label: (_counted(n), mean) for (label, n), mean in zip(head["batches"], means, strict=True)}
        for k, (setting, label, count) in enumerate(head["parts"]):
            part: _Rows | Moments
            if count is None:
                n = len(arrays[f"rows{k}"])
                part = _Rows(array(f"rows{k}", n, d), None, array(f"weight{k}", n) if f"weight{k}" in arrays else None)
            else:
                part = Moments(d, found.names)
                part.count, part.mean, part.scatter = _counted(count), array(f"mean{k}", d), array(f"scatter{k}", d, d)
            found._parts.setdefault(found._key(setting, label), []).append(part)
        return found

    def _key(self, setting: Sequence[int], label: Hashable) -> tuple[Setting, Hashable]:
        """Where the rows of a condition are kept, if there can be such a one."""
        if label not in self._batches or not setting or sorted({*setting}) != list(setting):
            raise ValueError("a condition that there cannot be")
        if setting[0] < 0 or setting[-1] >= self.d:
            raise ValueError("a column that there is not")
        return tuple(map(int, setting)), label

    def means(self) -> list[Means]:
        """Of each setting, the empty one first; its count is 0 where something was set in every row."""
        everything = np.arange(self.d)
        rest_count, centre = self.total, self.moments().mean
        rest_total, rest_squares = np.zeros(self.d), np.diag(self.scatter).copy()
        for count, mean in self._batches.values():
            rest_squares += count * (mean - centre) ** 2
        found = []
        for setting in self.settings:
            parts = [part for (each, _), held in self._parts.items() if each == setting for part in held]
            sums = [_squares(part, everything, centre) for part in parts]
            count, total, squares = (sum(column) for column in zip(*sums, strict=True))
            rest_count, rest_total, rest_squares = rest_count - count, rest_total - total, rest_squares - squares
            if count > 0:
                found.append(_means(setting, count, total, squares, centre))
        return [_means((), rest_count, rest_total, rest_squares, centre), *found]

    def count(self, node: int) -> float:
        """Number of rows that enter the equation of a node."""
        if self.kind == "shift":
            return self.total
        none = np.empty(0, np.intp)
        return self.total - sum(own.n for _, own in self._set(node, none))

    def covariance(self, node: int, columns: NDArray[np.intp]) -> Floats:
        """Covariance of these columns over the rows that enter the equation of a node."""
        products = self.scatter[columns[:, None], columns]
        count = self.total
        for label, own in self._set(node, columns):
            free = self._batches[label][0] - own.n
            products = products - own.products
            # The sums of all rows about their mean are zero: those of the free rows are minus those of the others.
            if free > 0:
                products = products - np.outer(own.total, own.total / free)
            if self.kind == "shift":
                products = products + own.products - np.outer(own.total, own.total / own.n)
            else:
                count -= own.n
        return np.asarray(products / max(count, 1.0))

    def free_mean(self, node: int, columns: NDArray[np.intp]) -> Floats:
        """Means of these columns over the rows in which a node was not set."""
        count, total = 0.0, np.zeros(len(columns))
        own = dict(self._set(node, columns))
        for label, (rows, mean) in self._batches.items():
            gone = own.get(label)
            free = rows - (0.0 if gone is None else gone.n)
            total += free * mean[columns] - (0.0 if gone is None else gone.total)
            count += free
        if count <= 0:
            return self.moments().mean[columns]
        return np.asarray(total / count)

    def _set(self, node: int, columns: NDArray[np.intp]) -> Iterator[tuple[Hashable, Sums]]:
        """For each batch the sums of the rows in which a node was set, about the mean of the batch."""
        if self._own is None:
            own: dict[int, dict[Hashable, list[_Rows | Moments]]] = {}
            for (setting, label), parts in self._parts.items():
                for each in setting:
                    own.setdefault(each, {}).setdefault(label, []).extend(parts)
            self._own = own
        for label, parts in self._own.get(node, {}).items():
            centre = self._batches[label][1][columns]
            sums = [_sums(part, columns, centre) for part in parts]
            found = sums[0] if len(sums) == 1 else Sums(*(sum(column) for column in zip(*sums, strict=True)))
            if found.n > 0:
                yield label, found

    def _absorb(self, label: Hashable, moments: Moments) -> None:
        self.scatter += moments.scatter
        self._join(label, moments.count, moments.mean)

    def _join(self, label: Hashable, count: float, mean: Floats) -> None:
        """Add rows to a batch whose scatter about their own mean has been added."""
        if count <= 0:
            return
        before, centre = self._batches.get(label, (0.0, mean))
        gap = mean - centre
        if before:
            self.scatter += np.outer(gap * (before * count / (before + count)), gap)
        self._batches[label] = before + count, centre + gap * (count / (before + count))

    def _keep(self, key: tuple[Setting, Hashable], rows: _Rows, held: bool) -> None:
        if held:
            self._parts.setdefault(key, []).append(rows)
            return
        copied = rows.X[rows.at] if rows.at is not None else rows.X.copy()
        self._parts.setdefault(key, []).append(_Rows(copied, None, rows.weight))
        self._compress(key)

    def _compress(self, key: tuple[Setting, Hashable]) -> None:
        """Make moments of the copied rows of a condition where those take less room."""
        parts = self._parts[key]
        copied = [part for part in parts if isinstance(part, _Rows) and part.at is None]
        if len(parts) == 1 and not copied:
            return
        summed = [part for part in parts if isinstance(part, Moments)]
        size = sum(part.X.nbytes for part in copied)
        if copied and (summed or size > 8 * self.d**2):
            found = Moments(self.d, self.names)
            for part in copied:
                found.update(part.X, part.weight)
            for other in summed:
                found = found.merge(other)
            self._parts[key] = [found, *(part for part in parts if isinstance(part, _Rows) and part.at is not None)]


def _sums(part: _Rows | Moments, columns: NDArray[np.intp], centre: Floats) -> Sums:
    if isinstance(part, Moments):
        gap = part.mean[columns] - centre
        among = part.scatter[columns[:, None], columns]
        return Sums(part.count, part.count * gap, among + part.count * np.outer(gap, gap))
    Y = part.few(columns) - centre
    if part.weight is None:
        return Sums(float(len(Y)), Y.sum(axis=0), Y.T @ Y)
    weighted = Y * part.weight[:, None]
    return Sums(float(part.weight.sum()), weighted.sum(axis=0), Y.T @ weighted)


def _squares(part: _Rows | Moments, columns: NDArray[np.intp], centre: Floats) -> tuple[float, Floats, Floats]:
    """Count, sums and sums of squares about a centre."""
    if isinstance(part, Moments):
        gap = part.mean - centre
        return part.count, part.count * gap, np.diag(part.scatter) + part.count * gap**2
    Y = part.few(columns) - centre
    weight = np.ones(len(Y)) if part.weight is None else part.weight
    return float(weight.sum()), weight @ Y, weight @ (Y * Y)


def _counted(count: float) -> float:
    """A number of rows out of a file."""
    if not 0 < count < np.inf:
        raise ValueError(f"{count} rows")
    return float(count)


def _means(setting: Setting, count: float, total: Floats, squares: Floats, centre: Floats) -> Means:
    n = max(count, 1.0)
    return Means(setting, max(count, 0.0), centre + total / n, np.maximum(squares / n - (total / n) ** 2, 0.0))
