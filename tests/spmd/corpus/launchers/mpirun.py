"""Open MPI's mpirun --output-filename DIR: DIR/1/rank.03/stdout."""
from .base import SIGNALS, Launcher, failures


class Mpirun(Launcher):
    def rank_path(self, line):
        width = len(str(self.plan.world - 1))
        return f"{self.attempt_dir(line.attempt)}1/rank.{line.owner[1]:0{width}d}/{line.stream}"

    def launcher_path(self, line):
        return f"{self.attempt_dir(line.attempt)}mpirun.log"

    def report(self, attempt):
        ends = failures(attempt)
        if not ends:
            return
        t, rank, code = ends[0]
        host = self.plan.hosts[self.plan.host(rank)]
        t += 0.4

        def say(name, text):
            attempt.launcher(None, t, "mpirun." + name, text)

        say("bar", "-" * 74)
        if code < 0:
            say("signal", f"mpirun noticed that process rank {rank} with PID {attempt.pid(rank)} on node {host} exited "
                f"on signal {-code} ({SIGNALS[-code]}).")
        else:
            say("primary", "Primary job  terminated normally, but 1 process returned")
            say("nonzero", "a non-zero exit code. Per user-direction, the job has been aborted.")
            say("bar", "-" * 74)
            say("bar", "-" * 74)
            say("detected", "mpirun detected that one or more processes exited with non-zero status, thus causing")
            say("terminated", "the job to be terminated. The first process to do so was:")
            say("blank", "")
            say("name", f"  Process name: [[{self.plan.number % 65535},1],{rank}]")
            say("code", f"  Exit code:    {code}")
        say("bar", "-" * 74)
