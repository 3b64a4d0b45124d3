#!/usr/bin/env python3
"""Scores `logarithm triage` on generated jobs: confusion matrix, shares, false alarms, wrong "certain" orders.

    LGR_BIN=build/release/bin score.py --jobs 1000 --seed 1 [--max-ranks 128] [--kind K] [--workers 2]

Ends with 1 where a bar is missed (--min-rank, --min-kind, --max-alarms; a wrong certain order never passes).
The kinds of HELD_OUT count apart: nothing was tuned on them.
"""
import argparse
import collections
import json
import multiprocessing
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from corpus.build import generate  # noqa: E402
from corpus.faults import HELD_OUT, KINDS  # noqa: E402
from judge import judge, share, totals  # noqa: E402

BIN = os.environ.get("LGR_BIN", os.path.join(HERE, "../../build/release/bin"))
PROGRAM = os.path.join(BIN, "logarithm")
TOOL = None  # another tool's command; gets DIR and perhaps --attempt N, answers as triage does


def has_triage():
    if TOOL:
        return True
    if not os.path.exists(PROGRAM):
        return False
    said = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=False).stdout
    return re.search(r"^ +triage\b", said, re.MULTILINE) is not None


def ask(logs, attempt=None, timeout=300):
    """triage's answer about a directory; {"error": …} when there is none."""
    command = [*TOOL, logs] if TOOL else [PROGRAM, "triage", "--files", logs, "--output", "json"]
    if attempt is not None:
        command += ["--attempt", str(attempt)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False)
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {timeout} s"}
    except json.JSONDecodeError:
        return {"error": (done.stderr or done.stdout)[-500:] or f"exit {done.returncode}"}


def score_one(task):
    """All attempts of one job."""
    seed, kind, ranks, max_ranks, keep = task
    directory = tempfile.mkdtemp(prefix="spmd-")
    try:
        truth = generate(seed, directory, kind, ranks, max_ranks)
        rows = []
        for expected in truth["attempts"]:
            began = time.monotonic()
            several = len(truth["attempts"]) > 1
            answer = ask(os.path.join(directory, "logs"), expected["attempt"] if several else None)
            row = judge(truth, expected, answer)
            row.update(seconds=time.monotonic() - began, lines=truth["lines"], error=answer.get("error"))
            rows.append(row)
        if keep and any(is_wrong(r) for r in rows):
            kept = os.path.join(keep, f"{truth['label']}-{seed}")
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(directory, kept)  # with the files' times: they tell the time zone
            with open(os.path.join(kept, "answers.json"), "w", encoding="utf-8") as file:
                json.dump(rows, file, indent=1)
        return rows
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def is_wrong(row):
    return row["wrong_certain"] or not row["verdict_right"] or row["kind_right"] is False or row["rank_right"] is False


def matrix(rows):
    """label -> answers, most frequent first."""
    table = collections.defaultdict(collections.Counter)
    for r in rows:
        label = r["label"] + ("" if r["attempt"] == 0 else f" attempt {r['attempt']}")
        said = "no answer" if r["error"] else f"{r['answer']}/{r['answer_kind'] or '-'}"
        table[label][said] += 1
    return table


def report(rows, title, out=print):
    t = totals(rows)
    out(f"\n{title}: {t['attempts']} attempts, {t['healthy']} healthy")
    out(f"  right first rank {t['rank_right']:.1%}   right kind {t['kind_right']:.1%}   right verdict "
        f"{t['verdict_right']:.1%}   right iteration {t['iteration_right']:.1%}")
    out(f"  false alarms {t['false_alarms']:.1%}   wrong certain orders {t['wrong_certain']}")
    out(f"  {'kind':<28}{'n':>5}{'rank':>7}{'kind':>7}  answers")
    by_label = matrix(rows)
    for label in sorted(by_label):
        mine = [r for r in rows if r["label"] + ("" if r["attempt"] == 0 else f" attempt {r['attempt']}") == label]
        said = ", ".join(f"{what} {n}" for what, n in by_label[label].most_common(6))
        sick = not mine[0]["healthy"]
        cells = [f"{share(mine, key)[0]:7.0%}" if sick else " " * 7 for key in ("rank_right", "kind_right")]
        out(f"  {label:<28}{len(mine):>5}{cells[0]}{cells[1]}  {said}")
    for key in ("launcher", "logger", "everyone", "world"):
        groups = collections.defaultdict(list)
        for r in rows:
            groups[r[key]].append(r)
        out(f"  right rank by {key}: " + ", ".join(
            f"{name} {share([r for r in g if not r['healthy']], 'rank_right')[0]:.0%}" for name, g in sorted(
                groups.items(), key=lambda item: str(item[0]))))
    return t


def passes(t, args):
    return (t["rank_right"] >= args.min_rank and t["kind_right"] >= args.min_kind
            and t["false_alarms"] <= args.max_alarms and t["wrong_certain"] == 0)


def run(tasks, workers):
    if workers == 1:
        return [row for task in tasks for row in score_one(task)]
    with multiprocessing.Pool(workers) as pool:
        return [row for rows in pool.imap_unordered(score_one, tasks) for row in rows]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--jobs", type=int, default=100)
    p.add_argument("--seed", type=int, help="of the first job; drawn and printed if not given")
    p.add_argument("--kind", choices=sorted(KINDS), action="append")
    p.add_argument("--ranks", type=int)
    p.add_argument("--max-ranks", type=int)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--keep", metavar="DIR", help="keeps the jobs that were judged wrong")
    p.add_argument("--json", metavar="FILE", help="writes every row")
    p.add_argument("--tool", metavar="CMD", help="scores another tool: CMD LOGDIR [--attempt N] prints triage's JSON")
    p.add_argument("--min-rank", type=float, default=0.97)
    p.add_argument("--min-kind", type=float, default=0.95)
    p.add_argument("--max-alarms", type=float, default=0.01)
    args = p.parse_args()
    if args.tool:
        global TOOL
        TOOL = shlex.split(args.tool)
    if not has_triage():
        print(f"{PROGRAM}: has no triage verb")
        return 2
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 31)
    print(f"seeds {seed} to {seed + args.jobs - 1} (--seed {seed} repeats)", flush=True)
    tasks = [(seed + i, args.kind[i % len(args.kind)] if args.kind else None, args.ranks, args.max_ranks, args.keep)
             for i in range(args.jobs)]
    rows = sorted(run(tasks, args.workers), key=lambda r: (r["seed"], r["attempt"]))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    tuned = [r for r in rows if r["label"] not in HELD_OUT]
    held = [r for r in rows if r["label"] in HELD_OUT]
    good = True
    if tuned:
        good = passes(report(tuned, "tuned kinds"), args)
    if held:
        report(held, "held out")
        good = good and sum(r["wrong_certain"] for r in held) == 0
    for r in [r for r in rows if r["wrong_certain"] or r["error"]][:20]:
        what = r["error"] or f"certain of {r['named']}, truly {r['expected_ranks']}"
        print(f"  seed {r['seed']} {r['label']} attempt {r['attempt']}: {what}")
    seconds = sorted(r["seconds"] for r in rows)
    if seconds:
        print(f"\ntriage: median {seconds[len(seconds) // 2]:.2f} s, longest {seconds[-1]:.2f} s")
    print("passed" if good else "FAILED: a bar was missed")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
