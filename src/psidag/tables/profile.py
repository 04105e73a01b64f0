"""What a table is like: types, gaps, columns that say nothing, and what variances give away."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psidag.data.checks import collinear_columns, constant_columns
from psidag.data.files import FileTable, Kind
from psidag.data.moments import Moments
from psidag.graph.sortability import r_squared
from psidag.system.parallel import tiles

#: Beyond this many columns the regression of each on all others is not worth its time here.
_MANY = 3000
#: Share of its variance that a combination of others may leave of a column, to be called one.
_EXACT = 1e-8
#: The same for one that is nearly a combination.
_NEARLY = 1e-4
#: Longer sums say nothing to a reader.
_MOST_TERMS = 6
#: This many terms are tried to do without, one by one.
_MOST_TRIED = 30
#: Standardised weights of terms that are none.
_TINY = 1e-6


class Profile(NamedTuple):
    """What :func:`profile_table` finds. Ranges are None where they cannot be had."""

    rows: int
    complete_rows: int
    kinds: Mapping[str, Kind]
    missing: Mapping[str, int]
    infinite: list[str]
    constant: list[str]
    duplicate: list[tuple[str, str]]
    collinear: list[str]
    nearly: list[str]
    """Columns that others determine but for next to nothing."""
    combinations: list[str]
    sd_range: tuple[float, float] | None
    r2_range: tuple[float, float] | None
    r2_median: float | None


def profile_table(table: FileTable) -> Profile:
    """Look a table over: what is said of a column is of all its numbers, what is said of several, of complete rows.

    Sortability is defined against a graph, and here there is none yet. What can be said beforehand is how far
    variances and R² differ: these are what a least-squares learner, and R²-sorting, would sort by.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0, 2.0], [2.0, 0.0, 0.0], [4.0, 1.0, 1.0]])
    >>> profile_table(FileTable(("a", "b", "copy"), X, {})).duplicate
    [('b', 'copy')]
    """
    names = table.names
    seen = _look(table)
    complete = seen.complete
    constant: list[str] = []
    collinear: list[str] = []
    nearly: list[str] = []
    duplicate = _duplicates(seen.digests, names, seen.gaps < seen.rows)
    twins = {second for _, second in duplicate}
    sd_range = r2_range = None
    r2_median = None
    combined: list[str] = []
    if len(names) and seen.rows >= 2:
        sd = seen.spread.sd
        constant = constant_columns(names, sd)
        alive = sd[sd > 0]
        if len(alive):
            sd_range = float(alive.min()), float(alive.max())
        moments = seen.moments
        if moments is not None and complete > len(names) + 1 and (moments.sd > 0).sum() > 1:
            frozen = {name for name, spread in zip(names, moments.sd, strict=True) if spread == 0}
            collinear, nearly = collinear_columns(moments)
            r2 = r_squared(moments)[moments.sd > 0]
            r2_range, r2_median = (float(r2.min()), float(r2.max())), float(np.median(r2))
            basis = [name for name in names if name not in {*collinear, *frozen}]
            found = [combination(moments, name, basis) for name in collinear if name not in twins]
            found += [combination(moments, name, [b for b in basis if b != name], _NEARLY) for name in nearly]
            combined = [text for text in found if text is not None]
    return Profile(
        rows=seen.rows,
        complete_rows=complete,
        kinds=table.kinds,
        missing={names[j]: int(seen.gaps[j]) for j in np.argsort(-seen.gaps, kind="stable") if seen.gaps[j]},
        infinite=[names[j] for j in np.flatnonzero(seen.infinite)],
        constant=constant,
        duplicate=duplicate,
        collinear=[name for name in collinear if name not in twins],
        nearly=nearly,
        combinations=combined,
        sd_range=sd_range,
        r2_range=r2_range,
        r2_median=r2_median,
    )


class _Spread:
    """Mean and standard deviation of each column, from all the numbers that it has in blocks of rows."""

    def __init__(self, d: int) -> None:
        self.count, self._mean, self._scatter = np.zeros(d), np.zeros(d), np.zeros(d)

    def update(self, rows: NDArray[np.floating]) -> None:
        """More rows; few columns are looked at together, so that no copy of all of them is made."""
        for part in tiles(rows.shape[1], 256) if len(rows) else []:
            few = rows[:, part].astype(np.float64)
            there = np.isfinite(few)
            few[~there] = 0.0
            new, old = there.sum(axis=0), self.count[part]
            total = np.maximum(old + new, 1)
            mean = few.sum(axis=0) / np.maximum(new, 1)
            shift = mean - self._mean[part]
            inside = np.square(np.where(there, few - mean, 0.0)).sum(axis=0)
            self._scatter[part] += inside + shift**2 * (old * new / total)
            self._mean[part] += shift * (new / total)
            self.count[part] = old + new

    @property
    def sd(self) -> NDArray[np.float64]:
        """Zero as in :attr:`Moments.sd`; NaN for a column without numbers."""
        sd: NDArray[np.float64] = np.sqrt(self._scatter / np.where(self.count > 0, self.count, np.nan))
        sd[sd <= 1e-14 * np.abs(self._mean)] = 0.0
        return sd


class _Seen(NamedTuple):
    """What one pass over the rows finds: gaps, spread and digests of each column, and how many rows are complete.

    Moments of the complete rows only where columns are not too many.
    """

    rows: int
    complete: int
    gaps: NDArray[np.intp]
    infinite: NDArray[np.bool_]
    spread: _Spread
    moments: Moments | None
    digests: list[bytes]


def _look(table: FileTable) -> _Seen:
    d = len(table.names)
    rows, whole, gaps, infinite = 0, 0, np.zeros(d, np.intp), np.zeros(d, bool)
    spread = _Spread(d)
    moments = Moments(d, table.names) if d <= _MANY else None
    hashes = [hashlib.blake2b() for _ in range(d)]
    for block in table.blocks():
        rows += len(block)
        missing, endless = np.isnan(block), np.isinf(block)
        gaps += missing.sum(axis=0)
        infinite |= endless.any(axis=0)
        complete = ~(missing | endless).any(axis=1)
        whole += int(complete.sum())
        spread.update(block)
        if moments is not None:
            moments.update(block if complete.all() else block[complete])
        for j in range(d):
            # Adding zero makes -0.0 and 0.0 the same bytes.
            hashes[j].update((block[:, j] + 0.0).tobytes())
    return _Seen(rows, whole, gaps, infinite, spread, moments, [found.digest() for found in hashes])


def combination(moments: Moments, name: str, others: list[str], rest: float = _EXACT) -> str | None:
    """A column as a sum of a few others, if they leave no more than this share of its variance.

    Terms go one by one, the least first, as long as what is left suffices.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> moments = Moments.from_rows(np.c_[X, X[:, 0] - 2 * X[:, 1]], ["a", "b", "c", "total"])
    >>> combination(moments, "total", ["a", "b", "c"])
    'total = a - 2 b'
    """
    place = {known: k for k, known in enumerate(moments.names)}
    j, basis = place[name], [place[other] for other in others]
    S, sd = moments.covariance, moments.sd
    terms: list[tuple[float, str]] = []
    while basis:
        C = S[np.ix_(basis, basis)] / np.outer(sd[basis], sd[basis])
        c = S[basis, j] / (sd[basis] * sd[j])
        fitted = np.linalg.lstsq(C, c, rcond=1e-12)[0]
        if abs(1 - c @ fitted) > rest:
            break
        size = np.abs(fitted)
        if (size > _TINY).sum() > _MOST_TRIED:
            return None
        terms = [(w * sd[j] / sd[k], moments.names[k]) for w, k in zip(fitted, basis, strict=True)]
        gone = size <= max(_TINY, float(size.min()))
        basis = [k for k, out in zip(basis, gone, strict=True) if not out]
    if not terms or len(terms) > _MOST_TERMS:
        return None
    digits, sign = (4, "=") if rest == _EXACT else (3, "≈")
    at = [place[term] for _, term in terms]
    offset = float(moments.mean[j] - sum(w * moments.mean[k] for (w, _), k in zip(terms, at, strict=True)))
    # What rounding, or what the others leave, can have made of nothing is no constant.
    noise = np.sqrt(rest) * sd[j] + 1e-9 * sum(abs(w * moments.mean[k]) for (w, _), k in zip(terms, at, strict=True))
    constant = f"{offset:.{digits}g}" if abs(offset) > noise else ""
    return f"{name} {sign} {_sum(terms, digits, constant)}"


def _sum(terms: list[tuple[float, str]], digits: int, constant: str = "") -> str:
    """Terms as people write them, after a constant if there is one."""
    parts = [constant] if constant else []
    for weight, name in terms:
        sign = (" - " if weight < 0 else " + ") if parts else ("-" if weight < 0 else "")
        size = f"{abs(weight):.{digits}g}"
        parts.append(f"{sign}{name}" if size == "1" else f"{sign}{size} {name}")
    return "".join(parts)


def _duplicates(digests: list[bytes], names: tuple[str, ...], filled: NDArray[np.bool_]) -> list[tuple[str, str]]:
    """Columns that are equal value by value, each with the first one it equals; those without values are none."""
    first: dict[bytes, str] = {}
    found = []
    for key, name, has_values in zip(digests, names, filled.tolist(), strict=True):
        if not has_values:
            continue
        if key in first:
            found.append((first[key], name))
        else:
            first[key] = name
    return found
