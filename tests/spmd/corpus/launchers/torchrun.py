"""torchrun --redirects 3: a directory per attempt and local rank; its own words in a file per host."""
from .. import startup
from ..texts import elastic
from .base import Launcher, failures


class Torchrun(Launcher):
    numbers_attempts = True

    def __init__(self, job):
        super().__init__(job)
        self.needs_names = self.plan.host_count > 1
        letters = "abcdefghijklmnopqrstuvwxyz0123456789_"
        self.runs = ["".join(self.rng.choices(letters, k=8)) for _ in self.plan.hosts]
        self.script = "train.py"

    def run_dir(self, host):
        return f"{self.host_dir(host)}{self.plan.name}_{self.runs[host]}"

    def rank_path(self, line):
        rank = line.owner[1]
        return (f"{self.run_dir(self.plan.host(rank))}/attempt_{line.attempt}/"
                f"{self.plan.local_rank(rank)}/{line.stream}.log")

    def launcher_path(self, line):
        return f"{self.host_dir(line.owner[1] or 0)}torchrun.log"

    def agent_pid(self, host):
        return self.plan.pids[host * self.plan.per_host] - 40

    def begin(self, attempt):
        if attempt.number == 0:
            for host in range(self.plan.host_count):
                startup.elastic_banner(attempt, host, attempt.start + self.rng.random())

    def report(self, attempt):
        """Each host's agent looks at its children every tenth of a second, and sorts by whole seconds."""
        if not self.job.plan.extra.get("agents", True):
            return
        plan = self.plan
        for host in range(plan.host_count):
            clock = plan.clocks[host]
            mine = [e for e in failures(attempt) if plan.host(e[1]) == host]
            if not mine or host in attempt.job.plan.extra.get("dead_hosts", ()):
                continue
            seen = mine[0][0] + 0.1
            early = [e for e in mine if e[0] <= seen + 0.5]
            rows = sorted(early, key=lambda e: (int(clock.local(e[0])), e[1]))
            rows = [(clock.local(t), r, plan.local_rank(r), attempt.pid(r), code) for t, r, code in rows]
            gone = {e[1] for e in early}
            others = [attempt.pid(r) for r in plan.ranks_of(host) if r not in gone]
            if self.restarts:
                attempt.launcher(host, seen + 0.4, "elastic.failed", elastic.header(
                    clock.local(seen + 0.4), "E", self.agent_pid(host), "multiprocessing/api.py:869") +
                    f" failed (exitcode: {rows[0][4]}) local_rank: {rows[0][2]} (pid: {rows[0][3]}) of binary: "
                    "/srv/venv/bin/python3")
                attempt.launcher(host, seen + 0.5, "elastic.restart", elastic.header(
                    clock.local(seen + 0.5), "W", self.agent_pid(host), "agent/server/api.py:899") +
                    f" [default] Worker group FAILED. {3 - attempt.number}/3 attempts left; will restart worker group")
                continue
            elastic.child_failed(lambda name, text, h=host, at=seen + 0.5: attempt.launcher(h, at, name, text),
                                 clock.local(seen), self.agent_pid(host), rows, others, plan.hosts[host],
                                 self.script)
