#!/usr/bin/env python3
"""Ranks against each other, through the real programs: planted departures in files, and what a failing
job prints; the same answer from --files and from a server; correlation, saved lists, first divergence."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Cluster, cli_files, seed  # noqa: E402

RANKS, STEPS = 8, 120


def write_job(directory, kind, rng):
    """torchtitan's lines; returns (rank, iteration) of what was planted."""
    os.makedirs(directory)
    bad, at = rng.randrange(1, RANKS), rng.randrange(3, STEPS - 2)
    loss = [round(rng.uniform(2, 10), 4) for _ in range(STEPS)]
    norm = [round(rng.uniform(0.2, 3), 4) for _ in range(STEPS)]
    for rank in range(RANKS):
        own = random.Random(rank)
        clock = own.random() * 0.01
        with open(os.path.join(directory, f"rank-{rank}.log"), "w") as file:
            def log(text, level="INFO"):
                minute, second = divmod(clock, 60)
                file.write(f"[rank{rank}]:[titan] 2026-11-30 10:{int(minute):02}:{int(second):02},"
                           f"{int(clock * 1000) % 1000:03} - root - {level} - {text}\n")
            log(f"Starting job: debug run on device cuda:{rank}")
            log("Building 1-D device mesh with ['dp_shard'], [8]")
            if rank == 0:
                log("Model llama3 debugmodel size: 6,139,136 total parameters")
            for step in range(1, STEPS + 1):
                clock += 0.2 + own.random() * 0.002
                planted = rank == bad and step == at
                value = loss[step - 1] + (0.25 if planted and kind == "value" else 0)
                log(f"step: {step:2d}  loss: {value:.4f}  grad_norm: {norm[step - 1]:.4f}  "
                    f"memory: {own.uniform(10, 20):.2f}GiB(3.75%)  tps: {own.randrange(1000, 9000)}  "
                    f"tflops: {own.uniform(1, 9):.2f}  mfu: {own.uniform(1, 9):.2f}%")
                if not (planted and kind == "missing"):
                    log(f"dataloader fetched {own.randrange(10, 99)} samples in {own.uniform(1, 9):.1f} ms")
                if planted and kind == "extra":
                    log("Retrying shard 17 after read timeout", "WARNING")
                if rank == 0 and step % 50 == 0:
                    log(f"Saving the checkpoint at step {step}.")
            log("Training completed")
    return bad, at


class Compare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="lgr-compare-")
        cls.addClassCleanup(shutil.rmtree, cls.dir, True)
        cls.rng = seed()
        cls.planted = {kind: write_job(os.path.join(cls.dir, kind), kind, cls.rng)
                       for kind in ("none", "extra", "missing", "value")}

    def files(self, verb, *arguments, kind):
        return json.loads(cli_files(verb, *arguments, "--output", "json", "--files",
                                    os.path.join(self.dir, kind)))

    def test_ranks_that_print_the_same_have_no_departures(self):
        found = self.files("compare", kind="none")
        self.assertEqual(found["departures"], [])
        self.assertIsNone(found["first_divergence"])
        self.assertEqual(found["ranks"], "0-7")
        self.assertTrue(found["completeness"]["complete"])
        self.assertGreaterEqual({v["key"] for v in found["values"]}, {"loss", "grad_norm"})

    def test_a_planted_departure_is_found_with_rank_iteration_and_kind(self):
        for kind in ("extra", "missing", "value"):
            with self.subTest(kind=kind):
                rank, iteration = self.planted[kind]
                found = self.files("compare", "--all", kind=kind)
                self.assertEqual(found["first_divergence"], {"iteration": iteration, "rank": rank})
                first = found["departures"][0]
                self.assertEqual((first["rank"], first["iteration"], first["kind"]),
                                 (rank, iteration, kind))
                self.assertEqual(len(found["departures"]), 1)

    def test_hashes_lead_to_the_first_divergence(self):
        for kind in ("extra", "missing"):
            with self.subTest(kind=kind):
                rank, iteration = self.planted[kind]
                found = self.files("compare", "--first-only", kind=kind)
                self.assertEqual(found["first_divergence"], {"iteration": iteration, "rank": rank})
        self.assertIsNone(self.files("compare", "--first-only", kind="none")["first_divergence"])

    def test_two_ranks_side_by_side(self):
        rank, iteration = self.planted["extra"]
        other = 1 if rank != 1 else 2
        found = self.files("compare", "--ranks", f"{other},{rank}", "--iteration", str(iteration),
                           kind="extra")
        right = [row for row in found["rows"] if row["kind"] == "right"]
        self.assertEqual(len(right), 1)
        self.assertIn("Retrying shard 17", right[0]["right"]["text"])
        self.assertEqual(found["first_divergence"], {"iteration": iteration, "rank": rank})

    def test_correlate_pairs_the_retry_with_what_follows(self):
        rank, iteration = self.planted["extra"]
        found = self.files("correlate", "--first", '|= "Retrying shard"', "--then", "| loss > 0",
                           "--by", "rank", "--within", "2i", kind="extra")
        self.assertEqual(found["count"], 1)
        pair = found["pairs"][0]
        self.assertEqual((pair["rank"], pair["iterations"]), (rank, 1))
        self.assertEqual(pair["then"]["iteration"], iteration + 1)

    def test_a_server_answers_the_same_and_keeps_lists_of_what_to_hide(self):
        with Cluster() as cluster:
            cluster.start_aggregator()
            for kind in ("extra", "none"):
                cluster.cli("import", "--job", kind, os.path.join(self.dir, kind))
            rank, iteration = self.planted["extra"]
            found = cluster.get("/jobs/extra/compare")
            self.assertEqual(found["first_divergence"], {"iteration": iteration, "rank": rank})
            again = cluster.get("/jobs/extra/compare")
            self.assertEqual(found, again)
            other = cluster.get("/jobs/extra/compare", against_job="none")
            self.assertEqual([(d["kind"], d["rank"], d["iteration"]) for d in other["departures"]],
                             [("extra", rank, iteration)])

            lines = cluster.get("/jobs/extra/count")["count"]
            sites = cluster.get("/jobs/extra/callsites")["callsites"]
            noise = [site for site in sites if site.get("noise")]
            self.assertEqual([site["text"][:19] for site in noise], ["dataloader fetched "])
            cluster.cli("hide", "extra", "quiet", "--noise")
            hidden = cluster.get("/jobs/extra/count", suppress="quiet")["count"]
            self.assertEqual(hidden, lines - noise[0]["lines"])
            self.assertEqual(cluster.request("/jobs/extra/count", suppress="none")[0], 404)
            shown = cluster.get("/jobs/extra/suppressions")["suppressions"]
            self.assertEqual([(s["name"], s["scope"]) for s in shown], [("quiet", "job")])
            text = cluster.cli("query", "extra", "--hide", "quiet", "--limit", "10000").decode()
            self.assertNotIn("dataloader fetched", text)
            cluster.cli("hide", "extra", "quiet", "--delete")
            self.assertEqual(cluster.get("/jobs/extra/suppressions")["suppressions"], [])

    def test_a_failing_rank_departs_from_its_peers(self):
        out = os.path.join(self.dir, "run7")
        subprocess.run([sys.executable, os.path.join(ROOT, "tests/jobs/sample_job.py"), "--out", out,
                        "--world", "4", "--fail-rank", "2", "--seconds", "3"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
        found = json.loads(cli_files("compare", "--output", "json", "--files", out))
        self.assertEqual(found["departures"][0]["rank"], 2, found["departures"])
        self.assertEqual(found["departures"][0]["kind"], "extra")


if __name__ == "__main__":
    unittest.main(verbosity=2)
