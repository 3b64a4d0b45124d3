"""The files as they were while a job hung: nobody has given up yet.

That time went by must show: the hung rank repeats itself, a heartbeat thread speaks on every rank,
or the kernel names the blocked process.
"""
from .. import truth
from .base import Fault
from .timeouts import WORDS


class Hang(Fault):
    verdict = "hung"
    kinds = ("hang",)

    def adjust(self):
        plan = self.plan
        ways = ["repeats", "kernel"] + (["heartbeat"] if plan.arrivals else [])
        if plan.logger == "bare":
            ways = ["kernel"]
        self.way = self.rng.choice(ways)
        if self.way == "kernel":
            plan.kernel_logs = True

    def strike(self, attempt, k):
        plan, rng, rank = self.plan, self.rng, self.rank
        if self.way == "heartbeat":
            k -= k % plan.interval
        attempt.enter(k, without=(rank,))
        self.time = t = attempt.barrier + plan.step * rng.uniform(0.05, 0.4)
        attempt.failed(rank, t, "hangs")
        last = max(t + 15 * plan.step, t + 70)
        site = ("data.py", 88, "fetch")
        if self.way == "repeats":
            word, at, pause = rng.choice(WORDS).format(s=rng.randrange(999)), t, max(10.0, 2 * plan.step)
            while at < last:
                attempt.say(rank, at, "hang.repeat", "WARNING", f"{word} ({at - t:.0f} s)", site)
                at += pause
        elif self.way == "kernel":
            attempt.say(rank, t, "hang.word", "INFO", rng.choice(WORDS).format(s=rng.randrange(999)), site)
            attempt.kernel(plan.host(rank), t + 124, "kernel.hung_task",
                           f"INFO: task python3:{attempt.pid(rank)} blocked for more than 122 seconds.")
            last = max(last, t + 125)
        else:
            at = t + 30
            while at < last:
                for r in range(plan.world):
                    attempt.say(r, at + 0.4 * rng.random(), "hang.heartbeat", "INFO",
                                f"heartbeat: iteration {k} not finished for {at - t:.0f} s", ("watch.py", 31, "beat"))
                at += 30
        attempt.ends(last)
        return True

    def truth(self, attempt):
        return truth.failing(attempt, self.verdict, self.kinds, [self.rank], self.iteration, self.time)


LABELS = {"hang": Hang}
