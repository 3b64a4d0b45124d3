"""GPUs: out of memory, Xid, NVLink. The kernel speaks of a PCI address, the rank of a CUDA error."""
from .. import cascade, truth
from ..texts import kernel, python
from .base import Fault

STEP = python.TRAIN + [("train.py", 412, "train_step", "loss.backward()"),
                       ("torch/_tensor.py", 648, "backward", "torch.autograd.backward(")]
CUDA_NOTE = ("CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
             "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
             "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n")


class GpuOom(Fault):
    kinds = ("gpu_oom",)
    wish = {"backend": "nccl"}

    def strike(self, attempt, k):
        rng, rank = self.rng, self.rank
        attempt.enter(k, without=(rank,))
        self.time = t = attempt.barrier + self.plan.step * rng.uniform(0.1, 0.7)
        used = rng.uniform(76, 78.6)
        python.traceback(
            attempt, rank, t, STEP, "torch.OutOfMemoryError" if self.plan.torch != "2.1" else "torch.cuda.OutOfMemoryError",
            f"CUDA out of memory. Tried to allocate {rng.choice(['2.00', '1.25', '5.86'])} GiB. GPU "
            f"{self.plan.local_rank(rank)} has a total capacity of 79.15 GiB of which {79.15 - used:.2f} GiB is free. "
            f"Process {attempt.pid(rank)} has {used:.2f} GiB memory in use. Of the allocated memory {used - 8:.2f} GiB is "
            "allocated by PyTorch, and 6.50 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory "
            "is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.", "python.gpu_oom")
        attempt.failed(rank, t, "gpu_oom")
        end = t + rng.uniform(0.2, 1.0)
        attempt.exit(rank, end, 1)
        cascade.after_death(attempt, end, [rank], k)
        return True


class Xid(Fault):
    """The kernel first, then the rank that held the GPU."""
    kinds = ("xid",)
    wish = {"kernel_logs": True, "backend": "nccl"}
    error = "unspecified launch failure"

    def kernel_lines(self, attempt):
        raise NotImplementedError

    def strike(self, attempt, k):
        rng, rank, plan = self.rng, self.rank, self.plan
        attempt.enter(k, without=(rank,))
        self.time = t = attempt.barrier + plan.step * rng.uniform(0.05, 0.6)
        for i, (name, text) in enumerate(self.kernel_lines(attempt)):
            attempt.kernel(plan.host(rank), t + 0.002 * i, name, text)
        attempt.failed(rank, t, "kernel")
        at = t + rng.uniform(0.005, 1.5)
        python.traceback(attempt, rank, at, STEP,
                         "torch.AcceleratorError" if plan.torch == "2.8" else "RuntimeError",
                         f"CUDA error: {self.error}", "python.cuda_error", note=CUDA_NOTE)
        end = at + rng.uniform(0.2, 1.0)
        attempt.exit(rank, end, 1)
        cascade.after_death(attempt, end, [rank], k)
        return True


class Xid79(Xid):
    error = "unknown error"

    def kernel_lines(self, attempt):
        return [("kernel.xid79", kernel.fallen(self.plan, self.rank, attempt.pid(self.rank))),
                ("kernel.gpu_lost", f"NVRM: GPU 0000:{self.plan.bus(self.rank)}:00.0: GPU has fallen off the bus."),
                ("kernel.crash_dump", "NVRM: A GPU crash dump has been created. If possible, please run")]


class Xid94(Xid):
    error = "uncorrectable ECC error encountered"

    def kernel_lines(self, attempt):
        return [("kernel.xid94", kernel.contained(self.plan, self.rank, attempt.pid(self.rank)))]


class Xid31(Xid):
    error = "an illegal memory access was encountered"

    def kernel_lines(self, attempt):
        return [("kernel.xid31", kernel.mmu_fault(self.plan, self.rank, attempt.pid(self.rank)))]


class NvLink(Xid):
    """The GPU's own report, or the switch's: then any rank of the host may have been on the link."""
    kinds = ("nvlink", "xid")
    error = "uncorrectable NVLink error detected during the execution"

    def kernel_lines(self, attempt):
        link = self.rng.randrange(18)
        self.by_switch = self.rng.random() < 0.4
        if self.by_switch:
            return [("kernel.sxid", kernel.sxid(self.rng.randrange(4), link))]
        return [("kernel.xid74", kernel.nvlink(self.plan, self.rank, attempt.pid(self.rank), link))]

    def truth(self, attempt):
        near = self.plan.ranks_of(self.plan.host(self.rank)) if self.by_switch else [self.rank]
        return truth.failing(attempt, self.verdict, self.kinds, [self.rank], self.iteration, self.time, near,
                             certain=[self.rank])


LABELS = {"gpu_oom": GpuOom, "xid79": Xid79, "xid94": Xid94, "xid31": Xid31, "nvlink": NvLink}
