#!/usr/bin/env python3
"""The corpus itself, and a small scoring of triage where the program has the verb."""
import collections
import hashlib
import json
import os
import re
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import score  # noqa: E402
from corpus.build import build, generate, kind_of  # noqa: E402
from corpus.faults import HEALTHY_SHARE, HELD_OUT, KINDS  # noqa: E402
from judge import judge, ranks_of, totals  # noqa: E402

SMALL = 32
VERDICTS = {"failed", "hung", "slow", "preempted", "healthy"}
WORDS = {"exception", "killed", "host_oom", "gpu_oom", "xid", "nvlink", "collective_timeout", "hang", "nan", "corruption",
         "straggler", "data_stall", "storage", "start", "preemption", "node_failure", "collective_mismatch", "network"}


def tree(directory):
    """{path: hash of bytes and time} of all files below."""
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            when = "" if os.path.basename(folder) == os.path.basename(directory) else os.stat(path).st_mtime_ns
            found[os.path.relpath(path, directory)] = (digest, when)
    return found


def texts(directory):
    for folder, _, names in os.walk(os.path.join(directory, "logs")):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield os.path.relpath(os.path.join(folder, name), directory), file.read()


class Generator(unittest.TestCase):
    def made(self, seed, kind=None, **more):
        directory = tempfile.TemporaryDirectory(prefix="spmd-test-")
        self.addCleanup(directory.cleanup)
        return directory.name, generate(seed, directory.name, kind, max_world=SMALL, **more)

    def test_same_arguments_same_bytes(self):
        for kind in sorted(KINDS):
            with self.subTest(kind=kind):
                one, _ = self.made(11, kind, with_groups=True)
                two, _ = self.made(11, kind, with_groups=True)
                self.assertEqual(tree(one), tree(two))

    def test_other_seeds_other_jobs(self):
        self.assertNotEqual(tree(self.made(1, "exception")[0]), tree(self.made(2, "exception")[0]))

    def test_truth_speaks_the_contract(self):
        for kind in sorted(KINDS):
            for seed in (1, 2):
                with self.subTest(kind=kind, seed=seed):
                    job, truth = build(seed, kind, max_world=SMALL)
                    self.assertEqual(truth["label"], kind)
                    for expected in truth["attempts"]:
                        self.check_expected(job, truth, expected)

    def check_expected(self, job, truth, expected):
        self.assertIn(expected["verdict"], VERDICTS)
        if expected["verdict"] == "healthy":
            self.assertIsNone(expected["first"])
            return
        self.assertTrue(set(expected["kinds"]) <= WORDS, expected["kinds"])
        first = expected["first"]
        self.assertTrue(first["ranks"] and set(first["ranks"]) <= set(first["acceptable"]))
        self.assertTrue(all(0 <= r < truth["world"] for r in first["acceptable"]))
        self.assertGreater(first["time"], job.plan.start)
        times = [o["time"] for o in expected["order"]]
        self.assertEqual(times, sorted(times))
        self.assertTrue(first["certain"] and set(first["certain"]) <= set(first["acceptable"]))
        if first["determinable"]:  # the first in the true order is one that may be named
            self.assertIn(expected["order"][0]["rank"], first["certain"])
        if first["iterations"]:
            low, high = first["iterations"]
            self.assertTrue(low <= first["iteration"] <= high)

    def test_no_truth_in_the_logs(self):
        """No word of ours, and no label that no program would say, in names or lines."""
        labels = [k for k in KINDS if re.search(r"[_0-9]", k)]
        ours = re.compile("|".join(sorted(labels) + ["look-?_?alike", r"\balike\b", "truth", "spmd", "corpus"]))
        for kind in sorted(KINDS):
            directory, _ = self.made(5, kind)
            for path, text in texts(directory):
                self.assertIsNone(ours.search(path[len("logs/"):]), path)
                hit = ours.search(text)
                self.assertIsNone(hit, f"{kind}: {path}: {hit}")

    def test_lines_have_their_statement(self):
        directory, truth = self.made(3, "exception", with_groups=True)
        with open(os.path.join(directory, "groups.jsonl"), encoding="utf-8") as file:
            rows = [json.loads(l) for l in file]
        self.assertEqual(len(rows), truth["lines"])
        counts = collections.Counter(r["file"] for r in rows)
        self.assertEqual(dict(counts), truth["files"])
        for path, text in texts(directory):
            self.assertEqual(text.count("\n"), counts[path[len("logs/"):]], path)

    def test_killed_ranks_say_nothing_more(self):
        for seed in range(4):
            job, truth = build(seed, "killed", max_world=SMALL)
            first = truth["attempts"][0]["first"]
            last = max(l.time for l in job.book.printed() if l.owner == ("rank", first["ranks"][0]))
            self.assertLessEqual(last, first["time"] + 0.02)

    def test_healthy_ranks_pass_the_same_barriers(self):
        job, _ = build(9, "healthy", 16)
        seen = collections.defaultdict(set)
        for line in job.book.printed():
            if line.statement.startswith("train.iteration"):
                seen[line.owner].add(re.search(r"(?:iteration|step|iter|global_step)\W+(\d+)",
                                               re.sub(r"\x1b\[[\d;]*m", "", line.text))[1])
        sizes = {len(s) for s in seen.values()}
        self.assertLessEqual(max(sizes) - min(sizes), 1)  # a snapshot may cut within an iteration

    def test_mixed_sets_hold_every_kind(self):
        kinds = collections.Counter(kind_of(seed) for seed in range(3000))
        self.assertEqual(set(kinds), set(KINDS))
        healthy = sum(kinds[k] for k in HEALTHY_SHARE)
        self.assertGreaterEqual(healthy, 0.24 * 3000)
        self.assertGreaterEqual(len(KINDS) - len(HEALTHY_SHARE), 16)
        self.assertEqual(len(HELD_OUT), 2)

    def test_big_worlds(self):
        for kind in ("timeout_dead_host", "healthy"):
            _, truth = build(1, kind, 1024)
            self.assertEqual(truth["world"], 1024)


NUMBER = r"\W+(nan|NAN|[-+.\deE]+)"


def iteration_lines(job):
    """(rank, iteration, {name: text of the value}) of the printed iteration lines."""
    for line in job.book.printed():
        if not line.statement.startswith("train.iteration"):
            continue
        text = re.sub(r"\x1b\[[\d;]*m", "", line.text)
        k = int(re.search(r"(?:iteration|step|iter|global_step)\W+(\d+)", text)[1])
        found = {name: re.search(pattern + NUMBER, text) for name, pattern in
                 (("loss", "(?:loss|reduced_train_loss)"), ("grad_norm", "grad[_ ]norm"))}
        yield line.owner[1], k, {name: hit[1] for name, hit in found.items() if hit}


class Evidence(unittest.TestCase):
    """The truth can be read from the lines."""
    SEEDS = range(20, 32)

    def each(self, check, *kinds):
        for kind in kinds:
            for seed in self.SEEDS:
                with self.subTest(kind=kind, seed=seed):
                    job, truth = build(seed, kind, max_world=SMALL)
                    check(job, truth["attempts"][0])

    def test_the_first_nan_loss_is_the_ranks_own(self):
        def check(job, expected):
            bad = [(k, rank) for rank, k, v in iteration_lines(job) if v.get("loss", "").lower() == "nan"]
            if job.fault.own:
                first = min(k for k, _ in bad)
                self.assertEqual(first, expected["first"]["iteration"])
                self.assertEqual({r for k, r in bad if k == first}, set(expected["first"]["acceptable"]))
            else:
                said = {l.owner[1] for l in job.book.printed() if l.statement == "nan.found"}
                self.assertEqual(said, set(expected["first"]["ranks"]))

        self.each(check, "nan")

    def test_the_corrupt_value_is_alone(self):
        def check(job, expected):
            what, k = job.fault.what, expected["first"]["iteration"]
            values = {r: v[what] for r, i, v in iteration_lines(job) if i == k and what in v}
            usual, count = collections.Counter(values.values()).most_common(1)[0]
            self.assertEqual(count, len(values) - 1, values)
            self.assertEqual([r for r, v in values.items() if v != usual], expected["first"]["ranks"])
            before = {r: v[what] for r, i, v in iteration_lines(job) if i == k - job.plan.interval and what in v}
            self.assertEqual(len(set(before.values())), 1)

        self.each(check, "corruption")

    def test_only_the_broken_rank_says_why(self):
        def check(job, expected):
            causes = {l.owner[1] for l in job.book.printed() if l.owner[0] == "rank" and re.match(
                r"python\.(?!frame|source|traceback|note)|python\.OSError", l.statement)}
            self.assertEqual(causes, set(expected["first"]["ranks"]))

        self.each(check, "exception", "gpu_oom", "xid31", "storage_full")

    def test_a_straggler_shows_in_times_or_numbers(self):
        def check(job, expected):
            plan, rank = job.plan, expected["first"]["ranks"][0]
            printed = [l for l in job.book.printed() if l.owner[0] == "rank"]
            last = job.attempts[0].logged[-1]
            if plan.extra.get("rank_times"):
                times = [(float(l.text.split(":")[1]), int(l.text.split()[1][:-1])) for l in printed
                         if l.statement == "timers.rank"][-plan.world:]
            elif plan.extra.get("timers"):
                times = [(float(re.search(r"fwd_bwd_ms ([\d.]+)", l.text)[1]), l.owner[1]) for l in printed
                         if l.statement.startswith("train.iteration")][-plan.world:]
            else:
                times = [(l.time, l.owner[1]) for l in printed
                         if l.statement == "train.before_sync" and f"iteration {last} " in l.text]
            self.assertEqual(len(times), plan.world)
            self.assertEqual(max(times)[1], rank)
            self.assertGreater(max(times)[0] - sorted(times)[-2][0], 0.3 * plan.step * (1 if times[0][0] > 1e9 else 1000))

        self.each(check, "straggler")

    def test_dead_hosts_say_nothing_more(self):
        def check(job, expected):
            dead, gone = set(expected["first"]["ranks"]), expected["first"]["time"]
            later = {l.owner[1] for l in job.book.printed() if l.owner[0] == "rank" and l.time > gone + 30}
            self.assertFalse(later & dead)
            spoke = {l.owner[1] for l in job.book.printed() if l.owner[0] == "rank" and l.time > gone}
            self.assertEqual(set(range(job.plan.world)) - spoke, dead)

        self.each(check, "timeout_dead_host")


class Judge(unittest.TestCase):
    def setUp(self):
        _, self.truth = build(4, "exception", 16)
        self.expected = self.truth["attempts"][0]
        self.rank = self.expected["first"]["ranks"][0]

    def answer(self, **first):
        return {"verdict": "failed", "kind": "exception", "first": dict({"ranks": [self.rank], "certain": True}, **first)}

    def test_right_answer(self):
        row = judge(self.truth, self.expected, self.answer())
        self.assertTrue(row["verdict_right"] and row["kind_right"] and row["rank_right"] and not row["wrong_certain"])

    def test_wrong_rank_is_worse_when_certain(self):
        other = (self.rank + 1) % 16
        self.assertTrue(judge(self.truth, self.expected, self.answer(ranks=[other]))["wrong_certain"])
        row = judge(self.truth, self.expected, self.answer(ranks=[other], certain=False))
        self.assertFalse(row["wrong_certain"] or row["rank_right"])

    def test_a_rank_too_many_is_wrong(self):
        row = judge(self.truth, self.expected, self.answer(ranks=[self.rank, (self.rank + 1) % 16]))
        self.assertFalse(row["rank_right"])

    def test_no_answer_is_wrong(self):
        row = judge(self.truth, self.expected, {"error": "crashed"})
        self.assertFalse(row["verdict_right"] or row["kind_right"] or row["rank_right"])
        self.assertEqual(totals([row])["rank_right"], 0.0)

    def test_ranks_as_text(self):
        self.assertEqual(ranks_of({"ranks": "0-2,7"}), {0, 1, 2, 7})
        self.assertEqual(ranks_of(None), set())


class Scorer(unittest.TestCase):
    """With a program that answers "healthy" to everything."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="spmd-test-")
        self.addCleanup(directory.cleanup)
        path = os.path.join(directory.name, "logarithm")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n[ \"$1\" = --help ] && echo '  triage   The verdict' && exit\necho '{\"verdict\": \"healthy\", \"kind\": null, \"first\": null}'\n")
        os.chmod(path, 0o755)
        self.program, score.PROGRAM = score.PROGRAM, path
        self.addCleanup(setattr, score, "PROGRAM", self.program)
        self.kept = os.path.join(directory.name, "kept")
        os.mkdir(self.kept)

    def test_an_optimist_misses_every_failure(self):
        tasks = [(1, kind, 8, None, self.kept) for kind in ("healthy", "lookalike", "exception", "elastic_restart")]
        rows = score.run(tasks, 1)
        lines = []
        t = score.report(rows, "optimist", lines.append)
        self.assertEqual((t["attempts"], t["healthy"], t["false_alarms"]), (5, 3, 0.0))
        self.assertEqual((t["rank_right"], t["kind_right"], t["wrong_certain"]), (0.0, 0.0, 0))
        self.assertTrue(any("exception" in l and "healthy/-" in l for l in lines))
        self.assertEqual(sorted(os.listdir(self.kept)), ["elastic_restart-1", "exception-1"])
        self.assertTrue(score.has_triage())


class Triage(unittest.TestCase):
    """A taste of the score: a job of most kinds. The whole score is score.py's."""
    JOBS = 24

    def test_small_score(self):
        if not score.has_triage():
            self.skipTest(f"{score.PROGRAM} has no triage verb")
        tuned = [k for k in sorted(KINDS) if k not in HELD_OUT]
        tasks = [(9000 + i, tuned[i % len(tuned)], None, 16, None) for i in range(self.JOBS)]
        rows = score.run(tasks, 2)
        t = score.report(rows, "small score")
        self.assertEqual(t["wrong_certain"], 0)
        self.assertEqual(t["false_alarms"], 0)
        self.assertGreaterEqual(t["rank_right"], 0.95)
        self.assertGreaterEqual(t["kind_right"], 0.95)


if __name__ == "__main__":
    unittest.main(verbosity=1)
