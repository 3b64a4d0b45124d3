"""What launchers share."""
from .. import clocks
from ..dice import dice

SIGNALS = {6: "Aborted", 7: "Bus error", 9: "Killed", 11: "Segmentation fault", 15: "Terminated"}


class Launcher:
    needs_names = False      # the path alone does not tell the global rank
    numbers_attempts = False

    def __init__(self, job):
        self.job, self.plan = job, job.plan
        self.rng = dice(job.plan.seed, job.plan.kind, "launcher")
        self.restarts = False

    def host_dir(self, host):
        return f"{self.plan.hosts[host]}/" if self.plan.host_count > 1 else ""

    def attempt_dir(self, attempt):
        return f"attempt-{attempt}/" if len(self.job.attempts) > 1 else ""

    def path(self, line):
        """The file of a line, relative to the log directory."""
        kind, number = line.owner
        if line.stream == "kernel":
            name = "kernel.log" if self.plan.kernel_form == "syslog" else f"dmesg-{self.plan.hosts[number]}.txt"
            return f"hosts/{self.plan.hosts[number]}/{name}"
        return self.launcher_path(line) if kind == "launcher" else self.rank_path(line)

    def wrap(self, line):
        """The text as it stands in the file."""
        if line.stream == "kernel":
            host = line.owner[1]
            local = self.plan.clocks[host].local(line.time)
            if self.plan.kernel_form == "dmesg":
                return f"[{clocks.ctime(local)}] {line.text}"
            up = line.time - self.plan.start + 512344
            return f"{clocks.syslog(local)} {self.plan.hosts[host]} kernel: [{up:.6f}] {line.text}"
        return self.launcher_text(line) if line.owner[0] == "launcher" else self.rank_text(line)

    def rank_text(self, line):
        return line.text

    def launcher_text(self, line):
        return line.text

    def rank_path(self, line):
        raise NotImplementedError

    def launcher_path(self, line):
        raise NotImplementedError

    def begin(self, attempt):
        """The launcher's words before any rank's."""

    def report(self, attempt):
        """The launcher's words about exits."""


def failures(attempt):
    """[(time, rank, code)] of exits that were none of the launcher's doing, first first."""
    return sorted(e for e in attempt.exits if e[2] not in (0, -15))
