"""EqVar: causes first, by the lowest conditional variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from psidag.baselines.baseline import Baseline, within
from psidag.run.loop import Progress, Task, equal_noise_only
from psidag.run.status import Candidate, Status
from psidag.stages.residual_order import residual_variance_order


@dataclass(frozen=True)
class EqVar(Baseline):
    """Order the variables by argmin_j Var(x_j | those already placed), then regress each on those before it.

    Right in the limit of many rows if all noise variances are equal: a variable whose causes are all placed
    has the noise variance left, any other has more. O(d³).

    References
    ----------
    Chen, Drton & Wang (2019), "On causal discovery with an equal variance assumption", Algorithm 1, top-down.

    Examples
    --------
    >>> from psidag import learn_dag
    >>> from psidag.simulate import simulate
    >>> problem = simulate("ER2", n=1000, d=10, seed=0)
    >>> problem.compare(learn_dag(problem.X, EqVar()).dag)["order_errors"]
    0
    """

    name: ClassVar[str] = "EqVar"

    def init(self, task: Task) -> None:
        """There is only one step, and nothing to keep."""
        equal_noise_only(task, self.name)

    def step(self, task: Task, state: None) -> tuple[None, Progress]:
        """All of it."""
        moments = task.source.moments(task.workers)
        done = Status("converged", "ordered by conditional variance")
        return None, Progress(task.d, int(moments.count), self.conclude(task, state), finished=done)

    def conclude(self, task: Task, state: None) -> Candidate:
        """The regressions within the order."""
        known = task.constraints
        order = residual_variance_order(task.source.moments(task.workers).covariance, known)
        return within(task, order, None if known.empty else known.allowed())
