"""Rows of experiments that nobody ran."""

import math

from psidag.experiments import Row


def made_up(method, seconds, *, graph="ER2", d=100, noise="gaussian", seed=0, gradients=1e5, **more):
    """A row that met the criterion after this many seconds, or, with None, never did."""
    met = seconds is not None
    given = {
        "status": "converged",
        "seconds": 2 * seconds if met else 60.0,
        "goal_seconds": seconds if met else math.nan,
        "goal_gradients": gradients if met else math.nan,
        "gap": 0.05 if met else 0.4,
    }
    return Row(graph, d, noise, 5000, method, seed, **(given | more))


def race(psidag, golem, dagma, **where):
    times = {"psidag-stream": psidag, "golem": golem, "dagma": dagma}
    return [made_up(method, seconds, **where) for method, seconds in times.items()]
