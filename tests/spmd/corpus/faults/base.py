"""What every fault is: a change to a healthy job, and its truth."""
from .. import truth
from ..dice import dice


class Fault:
    wish = {}          # fields of the plan that this fault needs
    verdict = "failed"
    kinds = ()
    slowed = ()        # ranks whose arrival differs

    def __init__(self, job):
        self.job, self.plan = job, job.plan
        self.rng = dice(self.plan.seed, self.plan.kind, "fault")
        self.rank = self.rng.randrange(self.plan.world)
        self.iteration = self.pick_iteration()
        self.time = None

    @classmethod
    def wishes(cls, rng):
        """Fields of the plan, drawn; the rest of the plan does not depend on them."""
        return dict(cls.wish)

    def adjust(self):
        """Changes the plan once it is whole."""

    def pick_iteration(self, printed=False):
        plan = self.plan
        low, high = plan.first + 4 * plan.interval, plan.first + plan.iterations - 2 * plan.interval
        k = self.rng.randrange(low, max(high, low + 1))
        return k - k % plan.interval if printed else k

    def course(self, job):
        plan = self.plan
        job.attempt(plan.start, plan.first, plan.first + plan.iterations, self)

    # Hooks; those that return True ended the attempt.

    def at_start(self, attempt):
        return False

    def after_start(self, attempt, t):
        pass

    def before(self, attempt, k):
        return self.strike(attempt, k) if k == self.iteration else False

    def strike(self, attempt, k):
        return False

    def at_end(self, attempt):
        return False

    def checkpoint(self, attempt, k):
        return False

    def delay(self, attempt, rank, k):
        """(seconds until its data is there, seconds of work) on top."""
        return 0.0, 0.0

    def values(self, attempt, rank, k, values):
        pass

    def truth(self, attempt):
        return truth.failing(attempt, self.verdict, self.kinds, [self.rank], self.iteration, self.time)


class Healthy(Fault):
    def __init__(self, job):
        super().__init__(job)
        self.iteration = None

    def truth(self, attempt):
        return truth.healthy(attempt)
