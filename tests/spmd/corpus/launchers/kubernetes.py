"""One pod a host, torchrun inside: all its ranks in one CRI file, each line with its global rank."""
from .. import clocks
from .torchrun import Torchrun


class Kubernetes(Torchrun):
    def __init__(self, job):
        super().__init__(job)
        self.needs_names = True
        self.uids = [f"{self.rng.randrange(1 << 32):08x}-9a3b-4c55-8d0e-{self.rng.randrange(1 << 48):012x}"
                     for _ in self.plan.hosts]

    def pod_path(self, host, attempt):
        return f"pods/train_{self.plan.name}-worker-{host}_{self.uids[host]}/pytorch/{attempt}.log"

    def rank_path(self, line):
        return self.pod_path(self.plan.host(line.owner[1]), line.attempt)

    def launcher_path(self, line):
        return self.pod_path(line.owner[1] or 0, line.attempt)

    def rank_text(self, line):
        return self.cri(line, self.plan.host(line.owner[1]), f"[rank{line.owner[1]}]:{line.text}")

    def launcher_text(self, line):
        return self.cri(line, line.owner[1] or 0, line.text)

    def cri(self, line, host, text):
        stamp = clocks.iso(self.plan.clocks[host].utc(line.time + 0.0002), mark="T", sep=".", digits=9)
        stream = "stderr" if line.stream in ("stderr", "launcher") else "stdout"
        return f"{stamp}Z {stream} F {text}"
