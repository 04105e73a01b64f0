"""A Gaussian score in plain NumPy, and all DAGs of four nodes."""

from __future__ import annotations

from itertools import product

import numpy as np

from psidag.graph.dag import DAG


class Gaussian:
    """n log v + price · parents, from a covariance."""

    def __init__(self, S, n, price):
        self.S, self.n, self.price = S, n, price

    def costs(self, families):
        return np.array([self._cost(j, list(p)) for j, p in families])

    def _cost(self, j, p):
        S = self.S
        v = S[j, j] - (S[p, j] @ np.linalg.solve(S[np.ix_(p, p)], S[p, j]) if p else 0)
        return self.n * np.log(v) + self.price * len(p)


def problem(seed, d, n=400, density=0.5, price=6.0):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.uniform(0.5, 1, (d, d)) * rng.choice([-1, 1], (d, d)) * (rng.random((d, d)) < density), 1)
    X = rng.normal(size=(n, d)) @ np.linalg.inv(np.eye(d) - W)
    return DAG.from_weights(W), Gaussian(np.cov(X.T, bias=True), n, price)


def total(score, parents):
    return score.costs(list(enumerate(parents))).sum()


def all_dags(d):
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
    for kinds in product((0, 1, 2), repeat=len(pairs)):
        parents = [[] for _ in range(d)]
        for (i, j), kind in zip(pairs, kinds, strict=True):
            if kind:
                parents[j if kind == 1 else i].append(i if kind == 1 else j)
        W = np.zeros((d, d))
        for j, p in enumerate(parents):
            W[p, j] = 1
        if not np.linalg.matrix_power(W, d).any():
            yield [tuple(sorted(p)) for p in parents]


ALL = [*all_dags(4)]
