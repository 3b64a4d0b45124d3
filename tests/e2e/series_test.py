#!/usr/bin/env python3
"""Sums of a real job's lines: telemetry series, call sites, histogram and fields, against values read
from the job's files by this test; without a server (--files) and from one after an import."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import shutil
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, ROOT, Cluster, cli_files  # noqa: E402

WORLD = 4
LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
METRICS = {"stdout": re.compile(r"^step=(\d+) loss=(\S+) grad_norm=(\S+)"),
           "stderr": re.compile(r"iteration (\d+) \| loss (\S+) \| grad_norm (\S+)")}


class Series(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="lgr-series-")
        cls.addClassCleanup(shutil.rmtree, cls.dir, True)
        cls.out = os.path.join(cls.dir, "run7")
        subprocess.run([sys.executable, os.path.join(ROOT, "tests/jobs/sample_job.py"), "--out",
                        cls.out, "--world", str(WORLD), "--fail-rank", "2", "--seconds", "3"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
        cls.points = {}  # (rank, stream, iteration) -> (loss, grad_norm)
        cls.lines = {}   # rank -> number of lines
        cls.bytes = 0
        for rank in range(WORLD):
            cls.lines[rank] = 0
            for stream, name in (("stdout", "out"), ("stderr", "err")):
                with open(f"{cls.out}/{name}-{rank}.log", "rb") as file:
                    data = file.read()
                cls.bytes += len(data)
                lines = LINE.findall(data)
                cls.lines[rank] += len(lines)
                for line in lines:
                    found = METRICS[stream].search(line.decode(errors="replace"))
                    if found:
                        key = (rank, stream, int(found[1]))
                        cls.points[key] = (float(found[2]), float(found[3]))
        assert len(cls.points) > 2 * WORLD, cls.points

    def cli(self, verb, *arguments):
        return json.loads(cli_files(verb, *arguments, "--output", "json", "--files", self.out))

    def test_each_bucket_of_one_stream_is_the_value_that_was_printed(self):
        for index, metric in enumerate(("loss", "grad_norm")):
            with self.subTest(metric=metric):
                answer = self.cli("series", metric, "--stream", "stdout", "--step", "1")
                self.assertTrue(answer["completeness"]["complete"], answer["completeness"])
                got = {(s["rank"], "stdout", b["iteration"]): b
                       for s in answer["series"] for b in s["buckets"]}
                wanted = {k: v[index] for k, v in self.points.items() if k[1] == "stdout"}
                self.assertEqual(set(got), set(wanted))
                for key, value in wanted.items():
                    for what in ("min", "max", "mean", "last"):
                        self.assertEqual(got[key][what], value, (key, what))
                    self.assertEqual(got[key]["count"], 1)

    def test_buckets_of_both_streams_have_min_max_mean_and_last(self):
        step = 16
        answer = self.cli("series", "loss", "--step", str(step))
        self.assertEqual([s["rank"] for s in answer["series"]], list(range(WORLD)))
        self.assertEqual(answer["points"], len(self.points))
        for series in answer["series"]:
            for bucket in series["buckets"]:
                first = bucket["iteration"]
                values = [v[0] for k, v in self.points.items()
                          if k[0] == series["rank"] and first <= k[2] < first + step]
                self.assertEqual(bucket["count"], len(values))
                self.assertEqual(bucket["min"], min(values))
                self.assertEqual(bucket["max"], max(values))
                self.assertTrue(math.isclose(bucket["mean"], math.fsum(values) / len(values),
                                             rel_tol=1e-13), (bucket, values))
                self.assertIn(bucket["last"], values)

    def test_the_plot_is_as_wide_as_a_plain_terminal(self):
        text = cli_files("series", "loss", "--plot", "--files", self.out).decode()
        self.assertIn("└──", text)
        self.assertTrue(any("\u2801" <= c <= "\u28ff" for c in text), text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    def test_nan_is_kept_and_marked(self):
        folder = os.path.join(self.dir, "diverged")
        os.makedirs(folder)
        for rank in range(3):
            with open(f"{folder}/rank-{rank}.log", "w", encoding="utf-8") as out:
                for step in range(100):
                    loss = "nan" if rank == 1 and step >= 70 else f"{3 - step / 100:.4f}"
                    out.write(f"step={step} loss={loss} grad_norm=1.5\n")
        answer = json.loads(cli_files("series", "loss", "--step", "20", "--output", "json",
                                      "--files", folder))
        self.assertEqual([s.get("first_nan") for s in answer["series"]], [None, 70, None])
        self.assertEqual([s["nan"] for s in answer["series"]], [0, 30, 0])
        half, gone = answer["series"][1]["buckets"][3:]
        self.assertEqual((half["iteration"], half["min"], half["max"]), (60, 2.31, 2.4))
        self.assertEqual((half["mean"], half["last"]), ("NaN", "NaN"))
        self.assertEqual((gone["min"], gone["max"], gone["count"]), ("NaN", "NaN", 20))
        text = cli_files("series", "loss", "--plot", "--files", folder).decode()
        self.assertIn("NaN: rank 1 from iteration 70 on, 30 of 100 points\n", text)
        self.assertRegex(text, r"\n *NaN │ +x")
        one = json.loads(cli_files("series", "loss", "--rank", "1", "--iteration", "68..71",
                                   "--output", "json", "--files", folder))
        self.assertEqual([b["last"] for b in one["series"][0]["buckets"]],
                         [2.32, 2.31, "NaN", "NaN"])

    def test_call_sites_add_up_to_the_files(self):
        answer = self.cli("callsites", "--limit", "1000")
        self.assertEqual(answer["total"], {"lines": sum(self.lines.values()),
                                           "bytes": str(self.bytes)})
        self.assertEqual(sum(s["lines"] for s in answer["callsites"]), sum(self.lines.values()))
        self.assertEqual(sum(int(s["bytes"]) for s in answer["callsites"]), self.bytes)
        self.assertAlmostEqual(sum(s["share"] for s in answer["callsites"]), 1.0)
        # Header-less lines (the progress bar) belong to the record before them, and so to its site.
        heads = self.cli("callsites", '{flags!="continuation"}')
        glog = [s for s in heads["callsites"] if s.get("callsite") == "allreduce.cc:412"]
        self.assertEqual(len(glog), 1)
        printed = {k for k in self.points if k[1] == "stderr"}
        self.assertEqual(glog[0]["lines"], len(printed))
        self.assertEqual(glog[0]["ranks"], f"0-{WORLD - 1}")
        self.assertEqual(glog[0]["last_iteration"], max(k[2] for k in printed))

    def test_histogram_and_fields_after_an_import(self):
        with Cluster() as cluster:
            cluster.start_aggregator()
            cluster.cli("import", "--job", "run7", self.out)
            by_rank = cluster.get("/jobs/run7/histogram", by="rank")
            self.assertEqual({b["key"]: b["count"] for b in by_rank["buckets"]}, self.lines)
            for by in ("time", "iteration", "host", "severity", "callsite", "template"):
                with self.subTest(by=by):
                    answer = cluster.get("/jobs/run7/histogram", by=by)
                    counted = sum(b["count"] for b in answer["buckets"]) + answer["other"]
                    self.assertEqual(counted, sum(self.lines.values()))
            fields = {f["name"]: f for f in cluster.get("/jobs/run7/fields")["fields"]}
            loss = fields["loss"]["types"][0]
            losses = [v[0] for v in self.points.values()]
            self.assertEqual(loss["type"], "float")
            self.assertEqual(loss["points"], len(losses))
            self.assertLessEqual(loss["min"], min(losses))
            self.assertGreaterEqual(loss["max"], max(losses))
            self.assertEqual({v["value"] for v in fields["rank"]["types"][0]["top"]},
                             set(range(WORLD)))
            points = cluster.get("/jobs/run7/telemetry/points", metric="loss", rank=2, limit=10000)
            got = sorted((p["stream"], p["iteration"], p["value"]) for p in points["points"])
            self.assertEqual(got, sorted((k[1], k[2], v[0]) for k, v in self.points.items()
                                         if k[0] == 2))
            job = cluster.get("/jobs/run7")["jobs"][0]
            self.assertEqual(job["freshness"]["lagging"], 0, job)
            self.assertIn("up to date", cluster.cli("jobs").decode())


if __name__ == "__main__":
    assert os.path.isdir(BIN), BIN
    unittest.main(verbosity=2)
