"""A shell loop that redirects each rank to a file of its own. Nobody reports exits."""
from .base import Launcher


class Plain(Launcher):
    def __init__(self, job):
        super().__init__(job)
        self.form = self.rng.choice(["rank-{r}.log", "rank{r}.{s}.log", "logs/train_rank{r}.log", "stdout_{r}.txt"])

    def rank_path(self, line):
        rank = line.owner[1]
        return self.attempt_dir(line.attempt) + self.form.format(r=rank, s=line.stream)

    def launcher_path(self, line):
        return self.attempt_dir(line.attempt) + "launch.log"
