"""The search in plain Python: sets of parents, every variance from a fresh solve. Slow, and short enough to be read."""

from __future__ import annotations

import math

import numpy as np


class ReferenceNetwork:
    """What ``psidag.search`` does, by definition.

    ``margin`` is how close the closest decision of the last sweep was, relative to what was compared: where it is
    near zero, rounding decides, and another implementation may decide otherwise.
    """

    def __init__(self, C, order, parents, *, n, penalty, sigma2, leeway, additions, tolerance, forbidden=()):
        self.C, self.order, self.parents = C, list(order), [frozenset(P) for P in parents]
        self.n, self.penalty, self.sigma2 = n, penalty, sigma2
        self.leeway, self.additions, self.tolerance = leeway, additions, tolerance
        self.forbidden = set(forbidden)
        self.margin = math.inf
        self._known = {}

    def variance(self, j, P):
        key = j, P
        if key not in self._known:
            few = sorted(P)
            b = np.linalg.solve(self.C[np.ix_(few, few)], self.C[few, j]) if few else np.empty(0)
            self._known[key] = float(self.C[j, j] - b @ self.C[few, j])
        return self._known[key]

    def cost(self, j, P):
        v = self.variance(j, P)
        return self.n * (v / self.sigma2[j] if self.sigma2[j] > 0 else math.log(v)) + self.penalty * len(P)

    def total(self):
        return sum(self.cost(j, P) for j, P in enumerate(self.parents))

    def children(self, i):
        return {j for j, P in enumerate(self.parents) if i in P}

    def less(self, a, b):
        """Whether a < b, remembering how close it was."""
        if math.isfinite(a) and math.isfinite(b):
            self.margin = min(self.margin, abs(a - b) / (1e-12 + max(abs(a), abs(b), 1e-3)))
        return a < b

    def price(self, j, v):
        """The gain that pays for a parent, and the loss below which one leaves."""
        if self.sigma2[j] > 0:
            return (self.penalty * self.sigma2[j] / self.n,) * 2
        return -v * math.expm1(-self.penalty / self.n), v * math.expm1(self.penalty / self.n)

    def pays(self, i, j, P):
        if (i, j) in self.forbidden:
            return False
        v = self.variance(j, P)
        return self.less(self.price(j, v)[0], v - self.variance(j, P | {i}))

    def select(self, j, P, candidates):
        """Forward-backward selection: the parents, and whether it came to an end by itself."""
        added = 0
        while True:
            while P:
                v = self.variance(j, P)
                losses = sorted((self.variance(j, P - {p}) - v, p) for p in P)
                if len(losses) > 1:
                    self.less(losses[0][0], losses[1][0])
                if not self.less(losses[0][0], self.price(j, v)[1]):
                    break
                P = P - {losses[0][1]}
            v = self.variance(j, P)
            open_ = [i for i in candidates if i not in P and i != j and (i, j) not in self.forbidden]
            gains = sorted(((v - self.variance(j, P | {i}), i) for i in open_), reverse=True)
            if len(gains) > 1:
                self.less(gains[1][0], gains[0][0])
            if not gains or not self.less(self.price(j, v)[0], gains[0][0]):
                return P, True
            if added == self.additions:
                return P, False
            added += 1
            P = P | {gains[0][1]}

    def least_change(self, i, tail, j, head):
        """About the least by which turning i -> j round changes a score of known noise variances."""
        if not (self.sigma2[i] > 0 and self.sigma2[j] > 0):
            return 0.0
        few = sorted(head)
        b = np.linalg.solve(self.C[np.ix_(few, few)], self.C[few, j])[few.index(i)]
        v, w = self.variance(i, tail), self.variance(j, head)
        x = b * b * v
        return self.n * (x / self.sigma2[j] - v * x / (w + x) / self.sigma2[i])

    def walk(self, v, step):
        """The best move of v to the left (-1) or right (1): change of the score, place, new parents by node."""
        place = {z: t for t, z in enumerate(self.order)}
        new, change, best = {v: self.parents[v]}, 0.0, (-self.tolerance, place[v], {})
        ahead = set(self.parents[v] if step < 0 else self.children(v))
        while ahead:
            z = max(ahead, key=place.get) if step < 0 else min(ahead, key=place.get)
            ahead |= self.parents[z] if step < 0 else self.children(z)
            ahead.remove(z)
            upper, lower = (z, v) if step < 0 else (v, z)
            before = {x: new.get(x, self.parents[x]) for x in (v, z)}
            head = before[lower]
            if upper in head:
                if self.less(self.leeway, change + self.least_change(upper, before[upper], lower, head)):
                    break
                new[lower], ended = self.select(lower, head - {upper}, before[upper])
                if not ended:
                    break
                change += self.cost(lower, new[lower]) - self.cost(lower, head)
            if self.pays(lower, upper, before[upper]):
                new[upper], ended = self.select(upper, before[upper] | {lower}, head - {upper})
                if not ended:
                    break
                change += self.cost(upper, new[upper]) - self.cost(upper, before[upper])
            if self.less(change, best[0]):
                best = (change, place[z], dict(new))
            if self.less(self.leeway, change):
                break
        return best

    def sweep(self, v):
        """Put v where the score is lowest; by how much that changes the score."""
        self.margin = math.inf
        left, right = self.walk(v, -1), self.walk(v, 1)
        if left[2] and right[2]:
            self.less(right[0], left[0])
        change, target, new = right if right[0] < left[0] else left
        for z, P in new.items():
            self.parents[z] = P
        self.order.remove(v)
        self.order.insert(target, v)
        return change if new else 0.0
