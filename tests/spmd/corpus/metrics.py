"""The numbers of an iteration: the same on every rank where they were reduced, its own else."""
import math

from .dice import dice


class Metrics:
    def __init__(self, plan):
        self.plan = plan
        rng = dice(plan.seed, plan.kind, "metrics")
        self.start = rng.uniform(6.0, 11.5)
        self.floor = rng.uniform(1.6, 3.0)
        self.rate = rng.uniform(0.5, 2.0) / max(plan.iterations, 1)
        self.norm = rng.uniform(0.3, 2.0)
        self.peak = rng.choice([1e-4, 1.5e-4, 3e-4, 6e-4])
        self.tokens = rng.uniform(2000, 60000)

    def reduced(self, k):
        """What every rank has after the all-reduce."""
        rng = dice(self.plan.seed, "reduced", k)
        done = k - self.plan.first
        loss = self.floor + (self.start - self.floor) * math.exp(-3 * self.rate * done)
        # A spike of the norm now and then is healthy.
        spike = rng.uniform(3, 9) if rng.random() < 0.01 else 1.0
        return {"loss": loss + rng.gauss(0, 0.02), "grad_norm": self.norm * rng.uniform(0.8, 1.25) * spike,
                "lr": self.peak * min(1.0, (k + 1) / 2000), "scale": 65536.0}

    def own(self, k, rank, values):
        """The loss of a rank's own data, around the mean: tensor-parallel ranks share their data."""
        replica = self.plan.layout.data_rank(rank)
        return values["loss"] + dice(self.plan.seed, "own", k, replica).gauss(0, 0.05)
