"""Healthy jobs with lines that look bad: two to four of these in each."""
from ..texts import nccl, python
from .base import Healthy
from .healthy import snapshot


class LookAlike(Healthy):
    def __init__(self, job):
        super().__init__(job)
        names = [n for n in sorted(ALIKE) if n not in ("nccl_warning", "record_streams") or self.plan.backend == "nccl"]
        self.chosen = self.rng.sample(names, self.rng.randint(2, 4))
        self.when = {n: self.pick_iteration(printed=True) for n in self.chosen}
        self.who = {n: self.rng.randrange(self.plan.world) for n in self.chosen}

    def adjust(self):
        if "slow_checkpoint" in self.chosen:
            self.plan.checkpoint_every = 10 * self.plan.interval
            self.plan.extra["checkpoint_seconds"] = self.rng.uniform(30, 120)

    def after_start(self, attempt, t):
        for name in self.chosen:
            if name in AT_START:
                ALIKE[name](self, attempt, t, attempt.first, self.who[name])

    def before(self, attempt, k):
        for name in self.chosen:
            if name in AT_START:
                continue
            often = name in EVERY and k % self.plan.interval == 0
            if often or k == self.when[name]:
                ALIKE[name](self, attempt, attempt.barrier + self.plan.step * 0.3, k, self.who[name])
        return False

    def at_end(self, attempt):
        if self.rng.random() > 0.25:
            return False
        snapshot(attempt, self.rng)
        return True


def optional_import(f, a, t, k, who):
    for rank in range(f.plan.world):
        a.say(rank, t + f.rng.random(), "alike.apex", "ERROR", "failed to import optional apex: No module named 'apex', using "
              "torch.optim instead", ("optim.py", 21, "<module>"))


def handled_exception(f, a, t, k, who):
    a.say(who, t, "alike.handled", "WARNING", "flash attention is not available, falling back to sdpa", ("attention.py", 12, "<module>"))
    a.raw(who, t, "python.traceback", "Traceback (most recent call last):")
    a.raw(who, t, "python.frame", f'  File "/srv/exp/{f.plan.name}/model/attention.py", line 9, in <module>')
    a.raw(who, t, "python.source:import flash_attn", "    import flash_attn")
    a.raw(who, t, "python.ModuleNotFoundError", "ModuleNotFoundError: No module named 'flash_attn'")


def retry(f, a, t, k, who):
    a.say(who, t, "alike.retry", "WARNING", f"read of s3://tokens/shard_{f.rng.randrange(999):05d} failed (attempt 1 of 5): Connection "
          "reset by peer, retrying in 1 s", ("s3.py", 88, "get"))
    a.say(who, t + 1, "alike.retried", "INFO", "read succeeded on attempt 2", ("s3.py", 94, "get"))


def slow_checkpoint(f, a, t, k, who):
    a.say(0, t, "alike.slow_storage", "WARNING", "checkpoint storage is slow (0.4 GB/s, expected 2.0 GB/s)", ("checkpoint.py", 99, "probe"))


def storage_pause(f, a, t, k, who):
    if f.plan.kernel_logs:
        host = f.plan.host(who)
        a.kernel(host, t, "kernel.nfs", "nfs: server nas-02 not responding, still trying")
        a.kernel(host, t + 2.5, "kernel.nfs_ok", "nfs: server nas-02 OK")


def chatty_rank(f, a, t, k, who):
    a.say(who, t, "alike.chatty", "INFO", f"profiler: top op aten::mm {f.rng.uniform(20, 40):.1f} % self time", ("profile.py", 40, "step"))


def loss_scale(f, a, t, k, who):
    for rank in range(f.plan.world):
        a.say(rank, t + 0.01 * f.rng.random(), "alike.overflow", "INFO", f"OVERFLOW! Rank {rank} Skipping step. Attempted loss scale: "
              "65536, reducing to 32768", ("loss_scaler.py", 190, "update_scale"))


def long_compile(f, a, t, k, who):
    for rank in range(f.plan.world):
        a.raw(rank, t + f.rng.random(), "alike.compile", "/srv/venv/lib/python3.12/site-packages/torch/_inductor/compile_fx.py:194: "
              "UserWarning: TensorFloat32 tensor cores for float32 matrix multiplication available but not enabled.")
    a.barrier += f.rng.uniform(60, 300)


def no_errors(f, a, t, k, who):
    a.say(0, t, "alike.validation", "INFO", "validation: 0 failed, 0 errors, nan count 0, exception count 0", ("evaluate.py", 66, "report"))


def evaluation(f, a, t, k, who):
    a.say(0, t, "alike.eval", "INFO", f"evaluating at iteration {k}", ("evaluate.py", 31, "run"))
    a.barrier += 20 * f.plan.step
    a.say(0, a.barrier - 0.1, "alike.eval_done", "INFO", f"eval perplexity {f.rng.uniform(5, 30):.3f}", ("evaluate.py", 58, "run"))


def corrected(f, a, t, k, who):
    if f.plan.kernel_logs:
        bus = f.plan.bus(who)
        a.kernel(f.plan.host(who), t, "kernel.aer", f"pcieport 0000:3a:00.0: AER: Multiple Corrected error received: 0000:{bus}:00.0")
        a.kernel(f.plan.host(who), t + 1, "kernel.edac", "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 "
                 "(channel:0 slot:0 page:0x1a2 offset:0x0 grain:32 syndrome:0x0)")


def nccl_warning(f, a, t, k, who):
    nccl.warn(a, who, t, "alike_plugin", "misc/ibvwrap.cc:94", "Call to ibv_open_device failed for mlx5_9, device is skipped")


def record_streams(f, a, t, k, who):
    for rank in range(f.plan.world):
        a.c10(rank, t + f.rng.random(), "alike.record_streams", "W", "Utils.hpp", 136,
              "Warning: Environment variable NCCL_ASYNC_ERROR_HANDLING is deprecated; use TORCH_NCCL_ASYNC_ERROR_HANDLING instead "
              "(function operator())")


def bad_sample(f, a, t, k, who):
    a.say(who, t, "alike.bad_sample", "ERROR", f"sample {f.rng.randrange(10**7)} is corrupt (invalid JSON), skipped",
          ("data.py", 71, "parse"))


ALIKE = {name: globals()[name] for name in (
    "optional_import", "handled_exception", "retry", "slow_checkpoint", "storage_pause", "chatty_rank", "loss_scale", "long_compile",
    "no_errors", "evaluation", "corrected", "nccl_warning", "record_streams", "bad_sample")}
AT_START = ("optional_import", "handled_exception", "long_compile", "nccl_warning", "record_streams")
EVERY = ("chatty_rank",)
LABELS = {"lookalike": LookAlike}
__all__ = ["LABELS", "LookAlike", "python"]
