"""A process is gone: SIGKILL without a word, or a segmentation fault with Python's last words."""
from .. import cascade
from .base import Fault


class Killed(Fault):
    kinds = ("killed",)
    code = -9

    def strike(self, attempt, k):
        attempt.enter(k, without=(self.rank,))
        self.time = t = attempt.barrier + self.plan.step * self.rng.uniform(0.05, 0.8)
        self.last_words(attempt, t)
        attempt.failed(self.rank, t, "killed")
        attempt.exit(self.rank, t + 0.01, self.code)
        cascade.after_death(attempt, t + 0.01, [self.rank], k, {"closed": 5, "stopped": 2, "timeout": 2})
        return True

    def last_words(self, attempt, t):
        pass

    def truth(self, attempt):
        if self.plan.launcher == "plain" and attempt.way == "timeout" and self.kinds == ("killed",) and self.code == -9:
            self.kinds = ("killed", "collective_timeout", "hang")  # nobody saw whether it died or hangs
        return super().truth(attempt)


class Segfault(Killed):
    code = -11

    def last_words(self, attempt, t):
        rank, pid = self.rank, attempt.pid(self.rank)
        attempt.raw(rank, t, "python.fatal", "Fatal Python error: Segmentation fault")
        attempt.raw(rank, t, "python.fatal_blank", "")
        attempt.raw(rank, t, "python.fatal_thread",
                    f"Current thread 0x00007f{self.rng.randrange(1 << 32):08x}00 (most recent call first):")
        for file, line, function in (("torch/_ops.py", 1116, "__call__"), ("model/attention.py", 188, "forward"),
                                     ("train.py", 412, "train_step")):
            attempt.raw(rank, t, "python.fatal_frame", f'  File "/srv/exp/{self.plan.name}/{file}", line {line} in {function}')
        if self.plan.kernel_logs:
            attempt.kernel(self.plan.host(rank), t, "kernel.segfault",
                           f"python3[{pid}]: segfault at 18 ip 00007f3b6e7213a3 sp 00007ffd1c2e8a90 error 4 in "
                           "libtorch_cuda.so[7f3b6a000000+2f000000]")


class HostOom(Killed):
    """The kernel kills the rank; without the kernel's log only the signal is known."""
    kinds = ("host_oom",)
    wish = {"kernel_logs": True}

    def adjust(self):
        self.plan.extra["oom_ranks"] = (self.rank,)

    def last_words(self, attempt, t):
        from ..texts import kernel
        for i, text in enumerate(kernel.oom(self.rng, attempt.pid(self.rank))):
            attempt.kernel(self.plan.host(self.rank), t, f"kernel.oom.{i}", text)


LABELS = {"killed": Killed, "segfault": Segfault, "host_oom": HostOom}
