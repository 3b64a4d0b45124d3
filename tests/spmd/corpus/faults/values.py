"""Numbers that go wrong: NaN from one rank's data, and a rank whose reduced values are silently its own."""
import math

from .. import cascade, truth
from ..texts import python
from .base import Fault


class Nan(Fault):
    """The rank's own loss is NaN first; the gradients of all in the same iteration, then everything.
    Where the printed loss is no rank's own, the rank says so itself."""
    kinds = ("nan",)

    def adjust(self):
        plan = self.plan
        self.iteration = self.pick_iteration(printed=True)
        self.own = plan.everyone and plan.layout.pipeline == 1
        self.replica = [r for r in range(plan.world) if plan.layout.data_rank(r) == plan.layout.data_rank(self.rank)]
        plan.local_loss = self.own
        self.patience = self.rng.choice([2, 5, 10]) * plan.interval
        self.stops = self.rng.random() < 0.7

    def values(self, attempt, rank, k, values):
        if k < self.iteration:
            return
        values["grad_norm"] = math.nan
        if k > self.iteration or rank in self.replica:
            if values["loss"] is not None:
                values["loss"] = math.nan

    def before(self, attempt, k):
        plan = self.plan
        if k == self.iteration:
            self.time = attempt.barrier + plan.step
            attempt.failed(self.rank, self.time, "nan")
            if not self.own:
                return self.reports(attempt, k)
        if self.stops and k == self.iteration + self.patience + 1:
            t = attempt.barrier + 0.02
            for rank in range(plan.world):
                at = t + 0.05 * self.rng.random()
                attempt.failed(rank, at, "stops")
                attempt.say(rank, at, "nan.stop", "ERROR", f"loss is nan for {self.patience} iterations, stopping",
                            ("loop.py", 171, "fit"))
                python.traceback(attempt, rank, at + 0.01, python.TRAIN[:2] + [
                    ("trainer/loop.py", 172, "fit", "raise FloatingPointError('loss is nan')")],
                    "FloatingPointError", "loss is nan")
                attempt.exit(rank, at + self.rng.uniform(0.3, 1.0), 1)
            attempt.ends(t + 3)
            return True
        return False

    def truth(self, attempt):
        near = self.replica if self.own else [self.rank]
        return truth.failing(attempt, self.verdict, self.kinds, [self.rank], self.iteration, self.time, near)

    def reports(self, attempt, k):
        """Megatron's check of the forward loss on each rank."""
        rank, plan = self.rank, self.plan
        attempt.enter(k, without=(rank,))
        t = attempt.barrier + plan.step * 0.4
        self.time = t
        attempt.failed(rank, t, "nan")
        node, device = plan.hosts[plan.host(rank)], plan.local_rank(rank)
        message = (f"Unexpected result nan on rank {rank} at iteration #{k} invocation #1 (message='found NaN in local "
                   f"forward loss calculation') node {node}, device {device}")
        attempt.say(rank, t, "nan.found", "ERROR", message, ("rerun_state_machine.py", 498, "validate_result"))
        python.traceback(attempt, rank, t + 0.01, python.TRAIN + [
            ("megatron/core/rerun_state_machine.py", 512, "validate_result", "raise RuntimeError(full_message)")],
            "RuntimeError", message, "nan.raised", note=None)
        end = t + self.rng.uniform(0.2, 1.0)
        attempt.exit(rank, end, 1)
        cascade.after_death(attempt, end, [rank], k)
        return True


class Corruption(Fault):
    """From one iteration on a rank prints another norm or loss than all others, finite and plausible."""
    kinds = ("corruption",)
    wish = {"everyone": True, "local_loss": False}

    def adjust(self):
        plan = self.plan
        self.iteration = self.pick_iteration(printed=True)
        peers = sum(plan.layout.has_loss(r) for r in range(plan.world))
        told = plan.layout.has_loss(self.rank) and peers >= 4  # of two values nobody knows the wrong one
        self.what = self.rng.choice(["grad_norm", "loss"] if told else ["grad_norm"])
        self.factor = self.rng.choice([1.02, 1.1, 0.8, 1.7])
        self.forever = self.rng.random() < 0.7

    def values(self, attempt, rank, k, values):
        if rank != self.rank or k < self.iteration or (k > self.iteration and not self.forever):
            return
        if values.get(self.what) is not None:
            values[self.what] *= self.factor
            if self.time is None:
                self.time = attempt.barrier
                attempt.failed(rank, self.time, "differs")


LABELS = {"nan": Nan, "corruption": Corruption}
