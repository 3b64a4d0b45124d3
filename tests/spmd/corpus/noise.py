"""Lines that say nothing of the job's health: shapes of tests/data/formats.jsonl with this job's
times, hosts and ranks, and kernels that talk to themselves."""
import json
import os
import re

from . import clocks
from .dice import dice
from .texts.kernel import NOISE

FORMATS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../data/formats.jsonl")
# (id, index of the line): info and warnings that no healthy job is ashamed of.
BENIGN = {"log_torch_py": (0,), "log_py_default": (1,), "log_py_dash": (1, 2), "log_hf_transformers": (1,),
          "log_deepspeed": (0, 1), "log_loguru": (0,), "log_nemo": (1,), "log_py_warning": (0,),
          "log_glog": (1,), "log_tensorflow": (0,), "log_vllm": (2,), "nccl_info": (0, 1), "log_lightning_rank": (0,),
          "met_ds_walltime": (0,), "met_megatron_timers": (0,)}
STAMPS = [(r"2026-03-04 05:06:07([,.])448(\d{3})?", lambda t, m: clocks.iso(t, sep=m[1], digits=6 if m[2] else 3)),
          (r"2026-03-04 05:06:07", lambda t, m: clocks.iso(t, digits=0)),
          (r"20260304 05:06:07\.448120", lambda t, m: clocks.iso(t, digits=0)[:4] + clocks.glog(t)),
          (r"0304 05:06:07\.448(\d{3})", lambda t, m: clocks.glog(t)),
          (r"03-04 05:06:07", lambda t, m: clocks.iso(t, digits=0)[5:])]


def shapes():
    found = []
    with open(FORMATS, encoding="utf-8") as file:
        for row in map(json.loads, file):
            for i in BENIGN.get(row["id"], ()):
                found.append((f"noise.{row['id']}.{i}", row["lines"][i].split("\n")[0]))
    return found


class Noise:
    def __init__(self, job):
        self.job, self.plan = job, job.plan
        rng = dice(job.plan.seed, job.plan.kind, "noise")
        every = shapes()
        self.chosen = rng.sample(every, min(len(every), rng.randint(1, 4)))

    def text(self, shape, attempt, rank, t, rng):
        local = attempt.clock(rank).local(t)
        for pattern, stamp in STAMPS:
            shape = re.sub(pattern, lambda m: stamp(local, m), shape)
        host = self.plan.hosts[self.plan.host(rank)]
        shape = shape.replace("gpu-n017", host).replace("48213", str(attempt.pid(rank)))
        shape = re.sub(r"\[Rank 0\]|\[rank: 3\]", lambda m: m[0][:-2].rstrip("03 ") + f" {rank}]", shape)
        return re.sub(r"(?<=\d\.)\d{2,}(?=$| )", lambda m: str(rng.randrange(10 ** (len(m[0]) - 1), 10 ** len(m[0]))),
                      shape)

    def line(self, attempt, rank, t):
        statement, shape = attempt.rng.choice(self.chosen)
        attempt.raw(rank, t, statement, self.text(shape, attempt, rank, t, attempt.rng))

    def at_start(self, attempt, t):
        """Warnings that every rank prints once."""
        for statement, shape in self.chosen[:2]:
            for rank in range(self.plan.world):
                at = t + 0.8 + attempt.rng.random()
                attempt.raw(rank, at, statement, self.text(shape, attempt, rank, at, attempt.rng))

    def kernel(self):
        """A few lines of every host's kernel over the life of the job."""
        plan = self.plan
        if not plan.kernel_logs:
            return
        rng = dice(plan.seed, plan.kind, "kernel noise")
        end = max(a.over for a in self.job.attempts)
        for host in range(plan.host_count):
            for _ in range(rng.randint(1, 5)):
                statement, text = rng.choice(NOISE)
                self.job.kernel(host, rng.uniform(plan.start, end), statement, text.format(n=rng.randint(1, 900)))
