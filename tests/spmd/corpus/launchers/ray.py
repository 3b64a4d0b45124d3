"""Ray Train: a file per worker process named by its pid; the driver's file maps pids to ranks."""
from .. import clocks
from .base import SIGNALS, Launcher, failures


class Ray(Launcher):
    def __init__(self, job):
        super().__init__(job)
        self.workers = [f"{self.rng.randrange(1 << 80):020x}" for _ in range(self.plan.world)]
        self.nodes = [f"{self.rng.randrange(1 << 32):08x}" for _ in self.plan.hosts]
        self.session = "session_" + clocks.iso(self.plan.start, mark="_", digits=0).replace(":", "-") + "_448120_4711"

    def rank_path(self, line):
        rank = line.owner[1]
        end = "out" if line.stream == "stdout" else "err"
        pid = self.job.attempts[line.attempt].pid(rank)
        return (f"{self.host_dir(self.plan.host(rank))}{self.session}/logs/"
                f"worker-{self.workers[rank]}-01000000-{pid}.{end}")

    def launcher_path(self, line):
        return f"{self.host_dir(0)}{self.session}/logs/job-driver-raysubmit_{self.plan.number:x}.log"

    def begin(self, attempt):
        t = attempt.start + 1.5
        attempt.launcher(0, t, "ray.started", f"(TorchTrainer pid={self.plan.pids[0] - 33}) Started distributed worker "
                         "processes: ")
        for rank in range(self.plan.world):
            host = self.plan.host(rank)
            attempt.launcher(0, t, "ray.map", f"(TorchTrainer pid={self.plan.pids[0] - 33}) - (node_id={self.nodes[host]}, "
                             f"ip={self.plan.address(host)}, pid={attempt.pid(rank)}) world_rank={rank}, "
                             f"local_rank={self.plan.local_rank(rank)}, node_rank={host}")

    def report(self, attempt):
        ends = failures(attempt)
        if not ends:
            return
        t, rank, code = ends[0]
        local = self.plan.clocks[0].local(t + 1)
        why = ("The worker died unexpectedly: Worker unexpectedly exits with a connection error code 2. End of file."
               if code >= 0 else f"Worker exit type: SYSTEM_ERROR, signal {-code} ({SIGNALS[-code]}).")
        attempt.launcher(0, t + 1, "ray.failed", f"{clocks.iso(local)}\tERROR tune_controller.py:1331 -- Trial task failed "
                         "for trial TorchTrainer")
        attempt.launcher(0, t + 1, "ray.died", "ray.exceptions.ActorDiedError: The actor died unexpectedly before "
                         f"finishing this task. pid: {attempt.pid(rank)}, ip: {self.plan.address(self.plan.host(rank))}. {why}")
