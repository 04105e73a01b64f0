"""Time series: are contemporaneous and lagged edges found, beside VAR-LiNGAM from the `lingam` package in the same run?

A structural vector autoregression with 20 variables and 2 lags, 2,000 rows, stable by construction. Judged are all
edges together, those of the present and those from the past; a reversed edge counts once. `psidag` learns with
`noise="equal"`, which holds here, on `lagged(rows, lags=2)` with the knowledge that time implies. VAR-LiNGAM prunes
by its own adaptive lasso; it needs noise that is not Gaussian, so with Gaussian noise it is out of its domain.

    python benchmarks/lags.py [--seeds 5] [--lingam 5]

The second number is of the seeds on which VAR-LiNGAM runs, too: it takes most of the time.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from psidag import lagged, learn_dag
from psidag.simulate import simulate

D, LAGS, ROWS, BURN = 20, 2, 2000, 200
NOISES = ("gaussian", "laplace", "uniform")


def svar(seed: int, noise: str) -> tuple[np.ndarray, list[np.ndarray]]:
    """Rows, and the true matrices of the present and of each lag, [i, j] for i -> j."""
    rng = np.random.default_rng(seed)
    present = simulate("ER1", n=2, d=D, seed=seed).dag.to_dense()
    past = []
    for share in (1.0, 0.5):
        matrix = np.zeros((D, D))
        for _ in range(int(share * D)):
            i, j = rng.integers(D, size=2)
            matrix[i, j] = rng.choice([-1, 1]) * rng.uniform(0.2, 0.4)
        past.append(matrix)
    np.fill_diagonal(past[0], 0.3)
    through = np.linalg.inv(np.eye(D) - present)
    while radius(past, through) > 0.9:
        past = [0.9 * matrix for matrix in past]
    draw = {
        "gaussian": lambda size: rng.normal(size=size),
        "laplace": lambda size: rng.laplace(scale=0.5**0.5, size=size),
        "uniform": lambda size: rng.uniform(-(3**0.5), 3**0.5, size=size),
    }[noise]
    X = np.zeros((ROWS + BURN, D))
    for t in range(LAGS, len(X)):
        X[t] = (sum(X[t - k - 1] @ past[k] for k in range(LAGS)) + draw(D)) @ through
    return X[BURN:], [present, *past]


def radius(past: list[np.ndarray], through: np.ndarray) -> float:
    """The spectral radius of the companion matrix; below 1 the series is stable."""
    companion = np.zeros((LAGS * D, LAGS * D))
    for k, matrix in enumerate(past):
        companion[:D, k * D : (k + 1) * D] = (matrix @ through).T
    companion[D:, :-D] = np.eye((LAGS - 1) * D)
    return float(np.abs(np.linalg.eigvals(companion)).max())


def distance(found: list[np.ndarray], true: list[np.ndarray]) -> int:
    """Edges that are missing, extra or reversed; a reversed one of the present counts once."""
    a, b = found[0] != 0, true[0] != 0
    wrong = a != b
    shd = int((wrong | wrong.T)[np.triu_indices(D, 1)].sum())
    return shd + sum(int(((f != 0) != (t != 0)).sum()) for f, t in zip(found[1:], true[1:], strict=True))


def ours(X: np.ndarray) -> tuple[list[np.ndarray], int]:
    """The matrices, and how many arrows point against time."""
    table = lagged(X, lags=LAGS)
    W = learn_dag(table, constraints=table.constraints, noise="equal", random_state=0).dag.to_dense()
    against = int((W[:, D:] != 0).sum())
    return [W[k * D : (k + 1) * D, :D] for k in range(LAGS + 1)], against


def var_lingam(X: np.ndarray) -> list[np.ndarray]:
    """The matrices by VAR-LiNGAM, turned to ours."""
    import lingam

    model = lingam.VARLiNGAM(lags=LAGS, criterion=None, prune=True, random_state=0).fit(X)
    return [np.asarray(matrix).T for matrix in model.adjacency_matrices_]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--lingam", type=int, default=5)
    parser.add_argument("--noises", nargs="+", default=NOISES)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| noise | seed | edges | psidag SHD | against time | cpu s | VAR-LiNGAM SHD | cpu s |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for noise in given.noises:
        for seed in range(given.seeds):
            X, true = svar(seed, noise)
            edges = sum(int((matrix != 0).sum()) for matrix in true)
            begun = time.process_time()
            found, against = ours(X)
            cells = [noise, seed, edges, distance(found, true), against, f"{time.process_time() - begun:.1f}"]
            if seed < given.lingam:
                begun = time.process_time()
                cells += [distance(var_lingam(X), true), f"{time.process_time() - begun:.1f}"]
            else:
                cells += ["", ""]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
