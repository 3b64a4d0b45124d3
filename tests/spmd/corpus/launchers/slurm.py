"""srun: a file per task (`-o out-%t.log`), or one file with labels (`-l`)."""
from .base import SIGNALS, Launcher, failures


def ranges(numbers):
    """0,3-5 of [0, 3, 4, 5]"""
    parts, run = [], []
    for n in sorted(numbers):
        if run and n == run[-1] + 1:
            run.append(n)
            continue
        if run:
            parts.append(run)
        run = [n]
    if run:
        parts.append(run)
    return ",".join(str(p[0]) if len(p) == 1 else f"{p[0]}-{p[-1]}" for p in parts)


class Slurm(Launcher):
    def launcher_path(self, line):
        return f"{self.attempt_dir(line.attempt)}slurm-{self.plan.number}.out"

    def report(self, attempt):
        """srun names a host's tasks and their end, grouped, a moment later."""
        plan = self.plan
        groups = {}
        first = None
        for t, rank, code in sorted(attempt.exits):
            if code == 0 or plan.host(rank) in plan.extra.get("dead_hosts", ()):
                continue
            first = t if first is None else first
            groups.setdefault((plan.host(rank), code, int((t - first) / 2)), []).append((t, rank))
        if first is None:
            return
        said_abort = False
        for (host, code, _), who in sorted(groups.items(), key=lambda g: g[1][0][0]):
            t = who[-1][0] + 0.3
            tasks = ranges([r for _, r in who])
            word = "task" if len(who) == 1 else "tasks"
            end = f"Exited with exit code {code}" if code > 0 else SIGNALS[-code]
            if -code == 9 and rank_was_oom(attempt, who[0][1]):
                end = "Out Of Memory"
            attempt.launcher(None, t, "srun.exit", f"srun: error: {plan.hosts[host]}: {word} {tasks}: {end}")
            if not said_abort and failures(attempt):
                said_abort = True
                attempt.launcher(None, t + 0.01, "srun.abort",
                                 "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.")


def rank_was_oom(attempt, rank):
    return rank in attempt.plan.extra.get("oom_ranks", ())


class SlurmTasks(Slurm):
    def __init__(self, job):
        super().__init__(job)
        self.form = self.rng.choice(["out-{r}.log|err-{r}.log", "out-{r}.log|out-{r}.log",
                                     "train-{r}.out|train-{r}.err"])

    def rank_path(self, line):
        out, err = self.form.split("|")
        return self.attempt_dir(line.attempt) + (out if line.stream == "stdout" else err).format(r=line.owner[1])


class SlurmLabel(Slurm):
    """All ranks in one file, each line with its task in front, right aligned."""

    def rank_path(self, line):
        return f"{self.attempt_dir(line.attempt)}slurm-{self.plan.number}.out"

    def rank_text(self, line):
        return f"{line.owner[1]:>{len(str(self.plan.world - 1))}}: {line.text}"
