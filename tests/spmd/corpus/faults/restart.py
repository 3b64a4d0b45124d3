"""An elastic restart: the first attempt fails, the second goes on from the last checkpoint and is well."""
from .. import truth
from .base import Fault, Healthy
from .exception import RankRaises
from .gpu import GpuOom
from .killed import Killed


class Restart(Fault):
    def __init__(self, job):
        super().__init__(job)
        inner = self.rng.choice([RankRaises, Killed] + ([GpuOom] if self.plan.backend == "nccl" else []))
        self.inner = inner(job)
        self.after = Healthy(job)

    def course(self, job):
        plan = self.plan
        job.launcher.restarts = True
        first = job.attempt(plan.start, plan.first, plan.first + plan.iterations, self.inner)
        back = max(plan.first, self.inner.iteration - self.rng.randint(1, 10) * plan.interval)
        again = back - back % plan.interval
        job.launcher.restarts = False
        job.attempt(first.over + self.rng.uniform(10, 60), max(again, plan.first), plan.first + plan.iterations, self.after)

    def truth(self, attempt):
        return self.inner.truth(attempt) if attempt.number == 0 else truth.healthy(attempt)


LABELS = {"elastic_restart": Restart}
