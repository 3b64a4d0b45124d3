"""One rank calls another collective than the rest: PyTorch's wrapper finds it at once, on every rank."""
from .. import cascade, truth
from ..texts import python
from .base import Fault

OPTIONS = ("TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), "
           "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))")


class Desync(Fault):
    kinds = ("collective_mismatch", "exception", "collective_timeout")
    wish = {"backend": "nccl"}

    def strike(self, attempt, k):
        plan, rng, odd = self.plan, self.rng, self.rank
        work = cascade.work_of(plan, k)
        attempt.enter(k)
        self.time = t = attempt.barrier + plan.step * 0.9
        attempt.failed(odd, t, "calls another collective")
        alike = f"CollectiveFingerPrint(SequenceNumber={work.seq}, OpType=ALLREDUCE, TensorShape=[{work.elements}], TensorDtypes=BFloat16, {OPTIONS})"
        other = f"CollectiveFingerPrint(SequenceNumber={work.seq}, OpType=BROADCAST, TensorShape=[1], TensorDtypes=Long, {OPTIONS})"
        for rank in range(plan.world):
            peer = odd if rank != odd else (odd + 1) % plan.world
            mine, theirs = (other, alike) if rank == odd else (alike, other)
            at = t + rng.uniform(0.001, 0.2)
            python.traceback(attempt, rank, at, python.TRAIN + [("torch/distributed/distributed_c10d.py", 2806, "all_reduce",
                                                                 "work = group.allreduce([tensor], opts)")],
                             "RuntimeError", f"Detected mismatch between collectives on ranks. Rank {rank} is running collective: {mine}, "
                             f"but Rank {peer} is running collective: {theirs}.", "python.mismatch")
            attempt.failed(rank, at, "mismatch")
            attempt.exit(rank, at + rng.uniform(0.2, 1.0), 1)
        attempt.ends(t + 3)
        return True

    def truth(self, attempt):
        return truth.failing(attempt, self.verdict, self.kinds, [self.rank], self.iteration, self.time)


LABELS = {"desync": Desync}
