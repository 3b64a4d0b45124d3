"""The job does not come up: one host's environment, its driver, or the port is bad."""
from .. import cascade, startup, truth
from ..texts import python
from .base import Fault

IMPORTS = [("ImportError", "libnccl.so.2: cannot open shared object file: No such file or directory",
            ("torch/__init__.py", 405, "<module>", "from torch._C import *  # noqa: F403")),
           ("ModuleNotFoundError", "No module named 'flash_attn'", ("model/attention.py", 3, "<module>", "import flash_attn")),
           ("ImportError", "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by "
            "/srv/venv/lib/python3.12/site-packages/transformer_engine.so)",
            ("transformer_engine/__init__.py", 12, "<module>", "from . import pytorch"))]


class BadHost(Fault):
    """All ranks of one host fail at import; the others wait for them."""
    kinds = ("start",)
    wish = {"several_hosts": True}

    def __init__(self, job):
        super().__init__(job)
        self.iteration = None

    def at_start(self, attempt):
        plan, rng = self.plan, self.rng
        self.host = plan.host(self.rank)
        broken = list(plan.ranks_of(self.host))
        ready = startup.begin(attempt, without=broken)
        frames, error, message = self.cause()
        for rank in broken:
            t = attempt.start + 1.5 + 3 * rng.random()
            python.traceback(attempt, rank, t, frames, error, message, ready=False)
            attempt.failed(rank, t, "start")
            attempt.exit(rank, t + 0.3, 1)
        self.time = min(t for t, _, _ in attempt.failures)
        others = attempt.others(*broken)
        if plan.launcher != "plain" and rng.random() < 0.5:
            cascade.stop_all(attempt, ready + 1, among=others)
        else:
            for rank in others:
                at = ready + 601 + rng.random()
                self.gives_up(attempt, rank, at, len(others))
                attempt.exit(rank, at + 0.3, 1)
            attempt.ends(ready + 605)
        return True

    def gives_up(self, attempt, rank, t, joined):
        plan = self.plan
        if rank == min(attempt.others(*plan.ranks_of(self.host))):
            text = f"Timed out after 601 seconds waiting for clients. {joined}/{plan.world} clients joined."
        else:
            text = f"wait timeout after 600000ms, keys: /worker/{rank}/ready"
        python.traceback(attempt, rank, t, [("train.py", 603, "<module>", "main()"), ("dist.py", 31, "init", "dist.init_process_group(backend)"),
                                            ("torch/distributed/rendezvous.py", 278, "_env_rendezvous_handler", "store = _create_c10d_store(")],
                         "torch.distributed.DistStoreError", text, "start.gave_up", ready=False)
        attempt.failed(rank, t, "gave up")

    def cause(self):
        error, message, frame = self.rng.choice(IMPORTS)
        return [("train.py", 9, "<module>", "import model"), frame], error, message

    def truth(self, attempt):
        first = min(attempt.failures)[1]
        return truth.failing(attempt, self.verdict, self.kinds, [first], None, self.time, self.plan.ranks_of(self.host),
                             certain=[first])


class BadDriver(BadHost):
    def cause(self):
        message = self.rng.choice([
            "The NVIDIA driver on your system is too old (found version 12020). Please update your GPU driver by downloading "
            "and installing a new version.",
            "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that "
            "might have already set an error? Error 802: system not yet initialized",
            "CUDA driver initialization failed, you might not have a CUDA gpu."])
        return ([("train.py", 566, "main", "torch.cuda.set_device(local_rank)"),
                 ("torch/cuda/__init__.py", 372, "_lazy_init", "torch._C._cuda_init()")], "RuntimeError", message)


class PortTaken(BadHost):
    """Rank 0 cannot serve the store; the others cannot reach it."""
    wish = {}

    def at_start(self, attempt):
        plan, rng = self.plan, self.rng
        self.rank = 0
        attempt.job.launcher.begin(attempt)
        self.time = t = attempt.start + 2 + rng.random()
        python.traceback(attempt, 0, t, [("train.py", 603, "<module>", "main()"), ("dist.py", 31, "init", "dist.init_process_group(backend)")],
                         "torch.distributed.DistNetworkError", "The server socket has failed to listen on any local network address. "
                         "port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use", ready=False)
        attempt.failed(0, t, "start")
        attempt.exit(0, t + 0.3, 1)
        stopped = plan.launcher != "plain" and rng.random() < 0.5
        for rank in attempt.others(0):
            if stopped:
                attempt.exit(rank, t + rng.uniform(0.5, 3), -15)
                continue
            at = t + 601 + rng.random()
            python.traceback(attempt, rank, at, [("train.py", 603, "<module>", "main()"), ("dist.py", 31, "init", "dist.init_process_group(backend)")],
                             "torch.distributed.DistNetworkError", "The client socket has timed out after 600000ms while trying to "
                             f"connect to ({plan.hosts[0]}, 29500).", "start.no_server", ready=False)
            attempt.failed(rank, at, "no server")
            attempt.exit(rank, at + 0.3, 1)
        attempt.ends(t + (5 if stopped else 605))
        return True

    def truth(self, attempt):
        return truth.failing(attempt, self.verdict, self.kinds, [0], None, self.time)


LABELS = {"start_import": BadHost, "start_driver": BadDriver, "start_port": PortTaken}
