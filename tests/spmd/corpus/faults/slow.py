"""Slow ranks: a straggler in its work, and data that does not come. The job goes on."""
from .. import truth
from .base import Fault


class Straggler(Fault):
    """The lines must tell who was late: a line before the barrier, or each rank's own times."""
    verdict = "slow"
    kinds = ("straggler",)

    @classmethod
    def wishes(cls, rng):
        wish = {"timed": True}
        if rng.random() < 0.2:
            wish.update(everyone=False, logger="megatron")
        else:
            wish.update(everyone=True)
        return wish

    def adjust(self):
        plan, rng = self.plan, self.rng
        self.by = plan.step * rng.uniform(0.5, 3.0)
        self.slowed = (self.rank,)
        if rng.random() < 0.3:
            self.iteration = plan.first
        if not plan.everyone or plan.logger == "megatron":
            plan.extra["rank_times"] = True  # its other lines have no stamps
        elif plan.logger in ("nemo", "seconds"):
            plan.extra["timers"] = True  # whole seconds tell nothing of shorter steps
        elif plan.logger == "hf" or rng.random() < 0.6:
            plan.extra["before_sync"] = True
        else:
            plan.extra["timers"] = True

    def before(self, attempt, k):
        if k == self.iteration:
            self.time = attempt.barrier + self.plan.step
            attempt.failed(self.rank, self.time, "late")
        return False

    def delay(self, attempt, rank, k):
        late = rank == self.rank and k >= self.iteration
        return 0.0, self.by if late else 0.0

    def truth(self, attempt):
        return truth.failing(attempt, self.verdict, self.kinds, [self.rank], self.iteration, self.time)


class DataStall(Fault):
    """Again and again one rank waits for its data much longer than a step takes."""
    verdict = "slow"
    kinds = ("data_stall",)
    wish = {"timed": True}

    def adjust(self):
        plan, rng = self.plan, self.rng
        self.iteration = self.pick_iteration(printed=True)
        self.slowed = (self.rank,)
        times = rng.randint(3, 8)
        self.stalls = {self.iteration + i * plan.interval: max(20 * plan.step, 30.0) * rng.uniform(0.7, 1.5)
                       for i in range(times)}
        self.says = not plan.arrivals or rng.random() < 0.4

    def before(self, attempt, k):
        if k not in self.stalls:
            return False
        if self.time is None:
            self.time = attempt.barrier
            attempt.failed(self.rank, self.time, "no data")
        if self.says:
            waited = self.stalls[k]
            attempt.say(self.rank, attempt.barrier + waited, "data.stall", "WARNING",
                        f"data loader: no batch for {waited:.1f} s, queue is empty (workers: 4, prefetch: 2)",
                        ("data.py", 133, "next_batch"))
        return False

    def delay(self, attempt, rank, k):
        return (self.stalls.get(k, 0.0) if rank == self.rank else 0.0), 0.0

    def truth(self, attempt):
        return truth.failing(attempt, self.verdict, self.kinds, [self.rank], self.iteration, self.time)


LABELS = {"straggler": Straggler, "data_stall": DataStall}
