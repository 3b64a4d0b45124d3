"""A checkpoint cannot be written: the disk of one writer is full, or a shared mount went stale for all."""
from .. import cascade, truth
from ..texts import python
from .base import Fault

SAVE = [("train.py", 603, "<module>", "main()"), ("trainer/loop.py", 166, "fit", "self.save(k)"),
        ("checkpoint.py", 139, "save", "torch.save(state, path)"),
        ("torch/serialization.py", 944, "save", "_save(obj, opened_zipfile, pickle_module, pickle_protocol)")]


class Storage(Fault):
    kinds = ("storage",)
    message = None

    def adjust(self):
        plan = self.plan
        every = max(4, plan.iterations // plan.interval // 4) * plan.interval
        plan.checkpoint_every = every
        marks = [k for k in range(plan.first + 1, plan.first + plan.iterations) if k % every == 0]
        self.iteration = self.rng.choice(marks[1:] or marks)
        self.writers = [r for r in range(plan.world) if plan.layout.writes_checkpoint(r)]
        self.rank = self.rng.choice(self.writers)
        self.broken = [self.rank]

    def before(self, attempt, k):
        return False

    def checkpoint(self, attempt, k):
        if k != self.iteration:
            return False
        plan, rng = self.plan, self.rng
        t = attempt.barrier + 0.02
        for rank in self.writers:
            attempt.say(rank, t, "checkpoint.saving", "INFO", f"saving checkpoint at iteration {k} to /ckpt/{plan.name}",
                        ("checkpoint.py", 120, "save"))
        times = self.when(t + rng.uniform(0.3, 3.0))
        self.time = min(times.values())
        for rank, at in times.items():
            path = f"/ckpt/{plan.name}/iter_{k:07d}/rank_{rank:05d}.pt"
            if rng.random() < 0.3:
                attempt.say(rank, at - 0.001, "checkpoint.failed", "ERROR", f"could not write {path}", ("checkpoint.py", 151, "save"))
            python.traceback(attempt, rank, at, SAVE, "OSError", self.message + (f": '{path}'" if rng.random() < 0.5 else ""),
                             "python.OSError.storage")
            attempt.failed(rank, at, "storage")
            attempt.exit(rank, at + rng.uniform(0.2, 0.9), 1)
        self.broken = sorted(times)
        if len(self.broken) == plan.world:
            attempt.ends(max(times.values()) + 3)
        else:
            cascade.after_death(attempt, max(times.values()) + 0.9, self.broken, k)
        attempt.struck = True
        return True

    def when(self, t):
        raise NotImplementedError


class Full(Storage):
    message = "[Errno 28] No space left on device"

    def when(self, t):
        return {self.rank: t}

    def truth(self, attempt):
        return truth.failing(attempt, self.verdict, self.kinds, [self.rank], self.iteration, self.time)


class Stale(Storage):
    """All writers see it within a second: nobody can say who was first across hosts."""
    message = "[Errno 116] Stale file handle"

    def when(self, t):
        return {rank: t + self.rng.uniform(0, 0.8) for rank in self.writers}

    def truth(self, attempt):
        first = min(attempt.failures)[1]
        return truth.failing(attempt, self.verdict, self.kinds, [first], self.iteration, self.time, self.broken,
                             certain=[first])


LABELS = {"storage_full": Full, "storage_stale": Stale}
