"""The logs of one large SPMD job, written quickly, and an aggregator that holds it.

Every rank prints four lines an iteration (batch, gradients, loss, memory; the shapes of the plain
logger of tests/spmd) with times and values of its own, now and then a warning in place of the
last; at the end one rank raises and the others lose their connections.
"""
import contextlib
import http.client
import json
import os
import random
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from harness import BIN, Cluster, eventually  # noqa: E402

JOB = "scale"
HOST_RANKS = 8
EPOCH = 1_795_953_600  # 2026-11-29 12:00:00 UTC, one iteration a second from then on
CONFIG = """discover:
  processes: false
  runs: false
  kernel_log: false
spool:
  max_bytes: 8GiB
files:
  - glob: {logs}/*/rank-*.log
    job: scale
    path: '(?P<host>node\\d+)/rank-(?P<rank>\\d+)\\.log$'
"""
LINES_AN_ITERATION = 4
CAUSE = "RuntimeError: bad sample in shard 5: expected 64 features, found 63"
PEER = ("torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/"
        "ProcessGroupNCCL.cpp:1970, remote process exited or there was a network error, NCCL version 2.20.5")


def stamp(second):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(EPOCH + second))


class ScaleJob:
    """`departure`: (rank, iteration) at which a rank prints another line than its peers; without
    `noise` it is the only one."""

    def __init__(self, logs, ranks=1024, iterations=2450, seed=7, departure=None, noise=True):
        self.logs, self.ranks, self.iterations = logs, ranks, iterations
        self.failing = ranks // 2 + 5 if ranks > 16 else ranks // 2
        self.departure, self.rng, self.noise = departure, random.Random(seed), noise
        self.lines = 0

    def path(self, rank):
        return f"{self.logs}/node{rank // HOST_RANKS:03d}/rank-{rank:04d}.log"

    def shared(self):
        """What all ranks print, with %s for what each has of its own."""
        rng, out = random.Random(1), []
        for k in range(self.iterations):
            at, loss = stamp(k), 1.8 + 2.0 * 0.999 ** k + rng.uniform(-0.02, 0.02)
            out.append(
                f"{at},0%s INFO data.py:140] iteration {k} | batch ready in %s ms\n"
                f"{at},8%s INFO train.py:188] iteration {k} | backward done, reducing gradients\n"
                f"{at},95%s INFO train.py:211] iteration {k} | loss {loss:.4f} | grad_norm "
                f"{rng.uniform(0.5, 1.5):.4f} | lr 3.0e-04 | 1000.0 ms\n"
                f"{at},96%s %s\n")
        return "".join(out)

    def write(self):
        """All but the end; the bytes of it."""
        shared, rng, total = self.shared(), self.rng, 0
        two = [f"{i:02d}" for i in range(100)]
        one = [str(i) for i in range(10)]
        batch = [f"{i / 10:.1f}" for i in range(100, 400)]
        last = ([f"DEBUG memory.py:33] allocated {60 + i / 1000:.3f} GiB, reserved 66.{i:03d} GiB"
                 for i in range(1000)] +
                ["WARNING data.py:162] retrying batch 17 from slow shard"] * self.noise)
        for rank in range(self.ranks):
            n = self.iterations
            own = [None] * (6 * n)
            for place, pool in enumerate((two, batch, two, one, one, last)):
                own[place::6] = rng.choices(pool, k=n)
            text = shared % tuple(own)
            self.lines += LINES_AN_ITERATION * n
            if self.departure and self.departure[0] == rank:
                mark = f"INFO train.py:188] iteration {self.departure[1]} | backward done, reducing gradients"
                assert mark in text
                text = text.replace(mark, mark.replace("reducing", "skipping overflow, not reducing"))
            os.makedirs(os.path.dirname(self.path(rank)), exist_ok=True)
            with open(self.path(rank), "w", encoding="utf-8") as file:
                file.write(text)
            total += len(text)
        return total

    def last_words(self, rank):
        at = stamp(self.iterations)
        cause = CAUSE if rank == self.failing else PEER
        late = 100 if rank == self.failing else 300 + rank % 500
        return (f"{at},{late} ERROR train.py:233] training failed\n"
                "Traceback (most recent call last):\n"
                '  File "/app/train.py", line 233, in <module>\n    main()\n'
                f'  File "/app/train.py", line 190, in main\n    trainer.step(batch)\n{cause}\n')

    def end(self):
        """The failing rank's last words, then the others'."""
        for rank in sorted(range(self.ranks), key=lambda r: r != self.failing):
            words = self.last_words(rank)
            with open(self.path(rank), "a", encoding="utf-8") as file:
                file.write(words)
            self.lines += words.count("\n")


class Server(Cluster):
    """A cluster that knows what its aggregator costs; `data` is a directory that outlives it."""

    def __init__(self, data=None):
        self.data = data
        super().__init__()

    def path(self, *parts):
        return self.data if self.data and parts == ("data",) else super().path(*parts)

    def agent_once(self):
        """Ships what there is and ends; the summary."""
        done = subprocess.run(
            [os.path.join(BIN, "logarithm-agent"), "--config", self.config, "--aggregator",
             f"ws://{self.address}", "--state-dir", self.path("state"), "--metrics", "off", "--once"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stdout.decode()[-2000:])
        return done.stdout.decode()

    def cpu(self):
        """Of the aggregator: user and system seconds since its start."""
        with open(f"/proc/{self.aggregator.child.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mib(self):
        with open(f"/proc/{self.aggregator.child.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) / 1024

    def ask(self, path, **parameters):
        """(answer, wall seconds)."""
        began = time.monotonic()
        connection = http.client.HTTPConnection(self.address, timeout=600)
        with contextlib.closing(connection):
            connection.request("GET", "/api/v1" + path + "?" + urllib.parse.urlencode(parameters))
            answer = connection.getresponse()
            body = answer.read()
        took = time.monotonic() - began
        if answer.status != 200:
            raise AssertionError(f"{path} {parameters}: {answer.status} {body[:500]!r}")
        return json.loads(body), took

    def measured(self, path, **parameters):
        """(answer, wall, CPU of the aggregator meanwhile)."""
        before = self.cpu()
        answer, wall = self.ask(path, **parameters)
        return answer, wall, self.cpu() - before

    def stored(self):
        return self.get(f"/jobs/{JOB}")["jobs"][0]["lines"]

    def asked(self):
        """Questions that were answered."""
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=30) as answer:
            return int(re.search(r"logarithm_aggregator_query_seconds_count (\d+)", answer.read().decode())[1])

    def settle(self, seconds=2.0):
        """Until upkeep has nothing to do: the aggregator's CPU stands still."""
        before = self.cpu()
        while True:
            time.sleep(seconds)
            now = self.cpu()
            if now - before < 0.05 * seconds:
                return now
            before = now


def write_config(cluster, logs):
    with open(cluster.config, "w", encoding="utf-8") as file:
        file.write(CONFIG.format(logs=logs))


__all__ = ["BIN", "JOB", "LINES_AN_ITERATION", "ScaleJob", "Server", "eventually", "write_config"]
