#!/usr/bin/env python3
"""A real PyTorch job, six times under one job id, each with another fault: collected live, kept
apart as six attempts, exported byte-equal, queried by rank and iteration; and again from the six
folders alone through --files. Needs python3-torch."""
import glob
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Cluster, cli_files, eventually  # noqa: E402

FAULTS = ["none", "crash", "kill", "nan", "hang", "slow"]
JOB = "ddp-demo"
WORLD = 4
ITERATIONS = int(os.environ.get("LGR_ITERATIONS", "110"))
FAULT_AT = 70


def free_port():
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_job(folder, fault):
    """launch.sh with JOB and ATTEMPT unset; a hung run is ended once its peers have given up."""
    env = {k: v for k, v in os.environ.items() if k not in ("JOB", "ATTEMPT")}
    env["MASTER_PORT"] = str(free_port())
    command = ["sh", os.path.join(ROOT, "tests/jobs/launch.sh"), folder, str(WORLD), "--iterations",
               str(ITERATIONS), "--fault", fault, "--fault-iter", str(FAULT_AT), "--timeout", "8"]
    job = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           start_new_session=True)
    if fault == "hang":
        eventually(lambda: all(b"Error" in open(f"{folder}/err-{r}.log", "rb").read()
                               for r in (0, 1, 3)), timeout=90, what="the peers of the hung rank")
        time.sleep(1.0)
        os.killpg(job.pid, signal.SIGKILL)
    job.wait(180)


def lines_of(folder, rank):
    for stream, name in (("stdout", f"out-{rank}.log"), ("stderr", f"err-{rank}.log")):
        yield stream, os.path.join(folder, name)


def expected_after_60(folder, rank):
    """Texts of the lines with grad_norm at or after each file's first line of iteration 60."""
    wanted = []
    for _, path in lines_of(folder, rank):
        seen = False
        for line in open(path, "rb").read().decode(errors="replace").splitlines():
            seen = seen or re.search(r"\b(?:iteration |step=)60\b", line) is not None
            if seen and "grad_norm" in line:
                wanted.append(line)
    return sorted(wanted)


def facts(line):
    """What must be the same live and through --files."""
    return (line["stream"], line["text"], line.get("rank"), line.get("iteration"),
            line.get("severity"), line.get("callsite"), json.dumps(line.get("meta", {}), sort_keys=True))


class RealJob(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().start_aggregator().start_agent()
        cls.addClassCleanup(cls.cluster.close)
        cls.folders = []
        for fault in FAULTS:
            folder = cls.cluster.path("jobs", fault)
            run_job(folder, fault)
            cls.folders.append(folder)
        total = sum(os.path.getsize(f) for folder in cls.folders for f in glob.glob(folder + "/*.log"))
        eventually(lambda: cls.stored_bytes() >= total, timeout=30, what=f"{total} bytes stored")
        eventually(lambda: cls.cluster.get(f"/jobs/{JOB}/count")["completeness"]["complete"],
                   timeout=30, what="completeness")

    @classmethod
    def stored_bytes(cls):
        return sum(int(s["bytes"]) for s in cls.cluster.get(f"/jobs/{JOB}/streams")["streams"])

    def ndjson(self, *arguments):
        out = self.cluster.cli("--output", "ndjson", "query", JOB, *arguments)
        return [json.loads(line) for line in out.splitlines() if b'"id"' in line]

    def test_one_job_with_six_attempts_and_four_ranks(self):
        # Other ranks may run on this host meanwhile: the agent finds those too.
        jobs = [job for job in self.cluster.get("/jobs")["jobs"] if job["job"] == JOB]
        self.assertEqual(len(jobs), 1)
        self.assertEqual(jobs[0]["attempts"], list(range(6)))
        self.assertEqual(jobs[0]["ranks"], "0-3")
        self.assertEqual(jobs[0]["world_size"], WORLD)

    def test_every_file_is_exported_byte_for_byte(self):
        for attempt, folder in enumerate(self.folders):
            for rank in range(WORLD):
                for stream, path in lines_of(folder, rank):
                    with self.subTest(attempt=attempt, rank=rank, stream=stream):
                        got = self.cluster.cli("export", JOB, "--attempt", str(attempt), "--rank",
                                               str(rank), "--stream", stream, "--output", "raw")
                        self.assertEqual(got, open(path, "rb").read())

    def test_a_query_for_errors_finds_the_crash(self):
        lines = self.ndjson("--attempt", "1", "--rank", "2", "--severity", "error")
        self.assertTrue(any("bad sample in shard 2" in l["text"] for l in lines), lines)

    def test_grad_norm_from_iteration_60_with_rank_and_iteration_on_each(self):
        for attempt, folder in enumerate(self.folders):
            with self.subTest(attempt=attempt, fault=FAULTS[attempt]):
                lines = self.ndjson('{rank="2"} | iteration >= 60 |= "grad_norm"', "--attempt",
                                    str(attempt), "--limit", "10000")
                self.assertEqual(sorted(l["text"] for l in lines), expected_after_60(folder, 2))
                self.assertTrue(all(l["rank"] == 2 and l["iteration"] >= 60 for l in lines))

    def test_nan_arrives_as_nan(self):
        attempt = FAULTS.index("nan")
        lines = self.ndjson("--attempt", str(attempt), "--rank", "2", "--grep", "loss nan",
                            "--limit", "1000")
        self.assertTrue(lines)
        for line in lines:
            self.assertEqual(line["meta"]["loss"], "NaN", line)
            self.assertTrue(math.isnan(float(line["meta"]["grad_norm"])))
        numeric = self.ndjson("| loss == NaN", "--attempt", str(attempt), "--rank", "2",
                              "--limit", "1000")
        self.assertGreaterEqual(len(numeric), len(lines))

    def test_the_exit_time_of_the_killed_rank_is_stored(self):
        attempt = FAULTS.index("kill")
        processes = [p for p in self.cluster.get(f"/jobs/{JOB}/processes")["processes"]
                     if p["attempt"] == attempt and p["rank"] == 2]
        self.assertEqual(len(processes), 1)
        last = self.ndjson("--attempt", str(attempt), "--rank", "2", "--limit", "1")[0]["time"]
        self.assertGreaterEqual(processes[0]["exit"], last)

    def test_the_folders_alone_through_files_say_the_same(self):
        for attempt, folder in enumerate(self.folders):
            with self.subTest(fault=FAULTS[attempt]):
                live = sorted(facts(l) for l in self.ndjson("--attempt", str(attempt), "--limit",
                                                            "10000"))
                out = cli_files("--output", "ndjson", "query", "--files", folder, "--limit", "10000")
                files = sorted(facts(json.loads(l)) for l in out.splitlines() if b'"id"' in l)
                self.assertEqual(len(live), len(files))
                self.assertEqual(live, files)


if __name__ == "__main__":
    unittest.main(verbosity=2)
