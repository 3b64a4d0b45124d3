#!/usr/bin/env python3
"""The verdict on a real PyTorch job, six times with another fault: live, and again from the files
alone; with 4 ranks of which rank 2 is faulty, and with 6 of which rank 4 is. Needs
python3-torch."""
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Cluster, cli_files, eventually  # noqa: E402

FAULTS = ["none", "crash", "kill", "nan", "hang", "slow"]
ITERATIONS, FAULT_AT, TIMEOUT = 110, 70, 14


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Run:
    """One job under a name of its own."""

    def __init__(self, cluster, world, fault, rank):
        self.world, self.fault, self.rank = world, fault, rank
        self.job = f"{fault}-{world}"
        self.folder = cluster.path("jobs", self.job)
        env = {k: v for k, v in os.environ.items() if k != "ATTEMPT"}
        env.update(JOB=self.job, MASTER_PORT=str(free_port()))
        command = ["sh", os.path.join(ROOT, "tests/jobs/launch.sh"), self.folder, str(world), "--iterations",
                   str(ITERATIONS), "--fault", fault, "--fault-iter", str(FAULT_AT), "--fault-rank", str(rank),
                   "--timeout", str(TIMEOUT)]
        self.child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, start_new_session=True)

    def file(self, rank, name="err"):
        path = f"{self.folder}/{name}-{rank}.log"
        if not os.path.exists(path):
            return b""
        with open(path, "rb") as file:
            return file.read()

    def peers(self):
        return [r for r in range(self.world) if r != self.rank]

    def wait_for_peers(self):
        eventually(lambda: all(b"Error" in self.file(r) for r in self.peers()), timeout=120,
                   what="the peers of the hung rank")

    def kill(self):
        os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait(60)


class Triage(unittest.TestCase):
    WORLD, RANK = 4, 2

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster().start_aggregator().start_agent()
        cls.addClassCleanup(cls.cluster.close)
        cls.runs = {}

    def run_job(self, fault):
        if fault not in self.runs:
            run = self.runs[fault] = Run(self.cluster, self.WORLD, fault, self.RANK)
            if fault != "hang":
                run.child.wait(240)
        return self.runs[fault]

    def ask(self, job):
        return json.loads(self.cluster.cli("--output", "json", "triage", job))

    def live(self, run, good):
        """The answer once all is stored; `good` says when it is the one that is waited for."""
        answers = []

        def asked():
            answers[:] = [self.ask(run.job)]
            return good(answers[0])
        try:
            eventually(asked, timeout=20, what=f"verdict of {run.job}", pause=0.3)
        except AssertionError:
            pass  # the test says what is wrong with the last one
        return answers[0]

    def both(self, fault, verdict):
        run = self.run_job(fault)
        live = self.live(run, lambda a: a["verdict"] == verdict and a["completeness"]["complete"])
        files = json.loads(cli_files("--output", "json", "triage", "--files", run.folder))
        return [("live", live), ("files", files)]

    def check_first(self, answer, verdict, kinds):
        self.assertEqual(answer["verdict"], verdict, answer)
        self.assertIn(answer["kind"], kinds, answer)
        self.assertEqual(answer["first"]["ranks"], [self.RANK], answer)
        for evidence in answer["evidence"]:
            self.assertTrue(evidence["claim"])
            for line in evidence["lines"]:
                self.assertRegex(line, r"^[0-9a-f]{32}\.\d+:\d+$")

    def check_one_cascade_row(self, answer):
        others = ",".join(str(r) for r in range(self.WORLD) if r != self.RANK)
        self.assertEqual(answer["cascade"]["count"], self.WORLD - 1, answer)
        self.assertEqual(len([e for e in answer["evidence"] if e["class"] == "cascade"]), 1, others)

    def test_nothing_is_wrong(self):
        for how, answer in self.both("none", "healthy"):
            with self.subTest(how):
                self.assertEqual(answer["verdict"], "healthy", answer)
                self.assertIsNone(answer["first"])
                self.assertEqual(answer["evidence"], [])

    def test_crash(self):
        for how, answer in self.both("crash", "failed"):
            with self.subTest(how):
                self.check_first(answer, "failed", ["exception"])
                self.check_one_cascade_row(answer)
                self.assertIn("bad sample", answer["evidence"][0]["text"])

    def test_kill(self):
        for how, answer in self.both("kill", "failed"):
            with self.subTest(how):
                self.check_first(answer, "failed", ["killed"])
                self.check_one_cascade_row(answer)

    def test_nan(self):
        for how, answer in self.both("nan", "failed"):
            with self.subTest(how):
                self.check_first(answer, "failed", ["nan"])
                self.assertEqual(answer["first"]["iteration"], FAULT_AT, answer)

    def test_slow(self):
        for how, answer in self.both("slow", "slow"):
            with self.subTest(how):
                self.check_first(answer, "slow", ["straggler"])
                self.assertEqual([s["rank"] for s in answer["stragglers"]], [self.RANK], answer)

    def test_hang(self):
        run = self.run_job("hang")
        self.addCleanup(run.kill)
        eventually(lambda: b"waiting for data shard" in run.file(self.RANK), timeout=120, pause=0.02,
                   what="the hung rank's last line")
        began = time.monotonic()
        answer = {}

        def is_hung():
            answer.update(self.ask(run.job))
            return answer["verdict"] == "hung"
        eventually(is_hung, timeout=10, what=f"hung; {answer}")
        print(f"hung after {time.monotonic() - began:.1f} s ({self.WORLD} ranks)", flush=True)
        self.check_first(answer, "hung", ["hang"])
        self.assertFalse(answer["first"]["certain"])
        self.assertTrue(any("waiting for data shard" in e.get("text", "") for e in answer["evidence"]), answer)
        run.wait_for_peers()
        answer = self.live(run, lambda a: a["cascade"]["count"] == self.WORLD - 1)
        self.check_first(answer, "hung", ["hang"])
        self.assertEqual([s["rank"] for s in answer["silent"]], [self.RANK], answer)
        self.check_one_cascade_row(answer)
        files = json.loads(cli_files("--output", "json", "triage", "--files", run.folder))
        self.check_first(files, "failed", ["collective_timeout", "hang"])
        self.assertEqual([s["rank"] for s in files["silent"]], [self.RANK], files)

    def test_no_alarm_while_it_runs(self):
        """Asked all the time, from the first line to the last, a healthy run is healthy."""
        run = Run(self.cluster, self.WORLD, "none", self.RANK)
        alarms = []

        def watch():
            while run.child.poll() is None:
                done = self.cluster.cli("--output", "json", "triage", run.job, check=False)
                if done.returncode == 0:
                    answer = json.loads(done.stdout)
                    if answer["verdict"] != "healthy":
                        alarms.append(answer)
                time.sleep(0.2)
        watcher = threading.Thread(target=watch)
        watcher.start()
        run.child.wait(240)
        watcher.join()
        self.assertEqual(alarms, [])

    def test_same_facts_same_bytes(self):
        run = self.run_job("crash")
        self.live(run, lambda a: a["verdict"] == "failed" and a["completeness"]["complete"])
        one = self.cluster.cli("--output", "json", "triage", run.job)
        two = self.cluster.cli("--output", "json", "triage", run.job)
        self.assertEqual(one, two)

    def test_texts_for_people(self):
        run = self.run_job("crash")
        self.live(run, lambda a: a["verdict"] == "failed" and a["completeness"]["complete"])
        text = self.cluster.cli("triage", run.job).decode()
        self.assertIn(f"rank {self.RANK}", text)
        self.assertIn("bad sample", text)
        summary = self.cluster.cli("--output", "raw", "triage", run.job).decode()
        self.assertEqual(summary.count("\n"), 1)

    def test_an_attempt_that_is_not_there(self):
        run = self.run_job("crash")
        done = self.cluster.cli("triage", run.job, "--attempt", "99", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"no attempt 99", done.stderr)


class TriageOfSixRanks(Triage):
    WORLD, RANK = 6, 4


if __name__ == "__main__":
    unittest.main(verbosity=2)
