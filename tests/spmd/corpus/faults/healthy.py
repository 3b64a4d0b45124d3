"""Nothing happens; in a third of the jobs the files were copied while it still ran."""
from .base import Healthy as Base


class Healthy(Base):
    def at_end(self, attempt):
        if self.rng.random() > 0.33:
            return False
        snapshot(attempt, self.rng)
        return True


def snapshot(attempt, rng):
    """The files as they are at one moment."""
    t = attempt.barrier + rng.random() * attempt.plan.step * 0.9
    for rank in range(attempt.plan.world):
        attempt.job.book.cut(attempt.number, ("rank", rank), t)
    attempt.ends(t)


LABELS = {"healthy": Healthy}
