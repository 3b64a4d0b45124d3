"""A job: its plan, what it printed, and what happens between iterations when all is well."""
from . import launchers, loggers, noise, truth
from .attempt import Attempt
from .dice import dice
from .lines import Book
from .metrics import Metrics


class Job:
    def __init__(self, plan, fault):
        self.plan, self.fault = plan, fault
        self.rng = dice(plan.seed, plan.kind, "job")
        self.book = Book()
        self.style = loggers.STYLES[plan.logger]
        self.metrics = Metrics(plan)
        self.noise = noise.Noise(self)
        self.launcher = launchers.make(self)
        self.communicator = self.rng.randrange(1 << 63)
        self.parameters = self.rng.randrange(10 ** 8, 10 ** 11)
        self.attempts = []
        self.alike = []  # look-alikes: faults that are none

    def attempt(self, start, first, last, fault):
        attempt = Attempt(self, len(self.attempts), start, first, last, fault)
        self.attempts.append(attempt)
        attempt.run()
        return attempt

    def run(self):
        self.fault.course(self)
        self.noise.kernel()
        return truth.build(self)

    def kernel(self, host, t, statement, text):
        self.book.add(t, 0, ("host", host), "kernel", statement, text)

    # Between iterations

    def slow_iteration(self, attempt, k):
        """All ranks alike are slower now and then: no straggler."""
        rng = dice(self.plan.seed, "slow", attempt, k)
        return rng.uniform(1.2, 2.0) if rng.random() < 0.01 else 1.0

    def between(self, attempt, k, before):
        plan = self.plan
        printed = k % plan.interval == 0
        if printed and plan.noise:
            for rank in range(plan.world):
                if attempt.rng.random() < plan.noise:
                    self.noise.line(attempt, rank, before + plan.step * 0.5 * attempt.rng.random())
        for alike in self.alike:
            alike(attempt, k)
        if plan.checkpoint_every and k > attempt.first and k % plan.checkpoint_every == 0:
            self.checkpoint(attempt, k)

    def checkpoint(self, attempt, k, seconds=None):
        """Every shard's first replica writes; the barrier after it is as late as the slowest."""
        plan, rng = self.plan, attempt.rng
        if attempt.fault and attempt.fault.checkpoint(attempt, k):
            return
        writers = [r for r in range(plan.world) if plan.layout.writes_checkpoint(r)]
        worst = 0.0
        for rank in writers:
            t = attempt.barrier + 0.02
            took = (seconds or plan.extra.get("checkpoint_seconds", 4.0)) * rng.uniform(0.8, 1.2)
            worst = max(worst, took)
            attempt.say(rank, t, "checkpoint.saving", "INFO", f"saving checkpoint at iteration {k} to /ckpt/{plan.name}",
                        ("checkpoint.py", 120, "save"))
            attempt.say(rank, t + took, "checkpoint.saved", "INFO",
                        f"saved checkpoint from iteration {k} to /ckpt/{plan.name} in {took:.1f} s",
                        ("checkpoint.py", 158, "save"))
        attempt.barrier += worst + 0.1

    def stage_line(self, attempt, rank, k, at, rng):
        """Pipeline stages rightly print different lines."""
        stage, last = self.plan.layout.stage(rank), self.plan.layout.pipeline - 1
        site = ("schedules.py", 412, "forward_backward")
        if stage == 0:
            attempt.say(rank, at + 0.001, "stage.first", "INFO",
                        f"stage 0: {rng.randrange(8, 64)} microbatches loaded, embedding norm {rng.uniform(1, 3):.3f}", site)
        elif stage < last:
            attempt.say(rank, at + 0.001, "stage.middle", "INFO",
                        f"stage {stage}: activations {rng.uniform(1, 9):.2f} MB in, bubble {rng.uniform(1, 9):.1f} %", site)
