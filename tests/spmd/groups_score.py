#!/usr/bin/env python3
"""How well `logarithm callsites` groups the lines of generated jobs, by the statements that printed them.

    LGR_BIN=build/release/bin groups_score.py --jobs 40 --seed 1 [--max-ranks 64] [--min 0.98] [--show]

A group is right when it holds the lines of one statement, and all of these; its lines are then right. Counted are
lines without a call site of their own (the others are grouped by that). Texts that two statements print are left out.
Ends with 1 below --min.
"""
import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from corpus.build import generate  # noqa: E402

PROGRAM = os.path.join(os.environ.get("LGR_BIN", os.path.join(HERE, "../../build/release/bin")), "logarithm")


def ask(verb, logs, *options):
    done = subprocess.run([PROGRAM, verb, "--files", logs, *options], capture_output=True, text=True, errors="replace",
                          timeout=300, check=True)
    return done.stdout


def labels_of(directory):
    """text -> the statement that printed it; None where several did."""
    texts, labels = {}, {}
    with open(os.path.join(directory, "groups.jsonl"), encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["file"] not in texts:
                path = os.path.join(directory, "logs", row["file"])
                with open(path, encoding="utf-8", errors="replace", newline="") as log:
                    texts[row["file"]] = log.read().split("\n")
            text = texts[row["file"]][row["line"] - 1].rstrip("\r")
            if labels.setdefault(text, row["group"]) != row["group"]:
                labels[text] = None
    return labels


def score(seed, max_ranks, show):
    """(right, counted) lines of one job."""
    directory = tempfile.mkdtemp(prefix="groups-")
    try:
        generate(seed, directory, None, None, max_ranks, True)
        labels, logs = labels_of(directory), os.path.join(directory, "logs")
        group_of = {}
        for site in json.loads(ask("callsites", logs, "--output", "json", "--limit", "1000"))["callsites"]:
            for template in site.get("templates", [site["template"]] if "template" in site else []):
                group_of[template] = site["template"]
        lines = collections.Counter()
        for line in map(json.loads, ask("export", logs).splitlines()):
            label = labels.get(line["text"])
            if label is None or "callsite" in line or line["template"] not in group_of:
                continue
            lines[label, group_of[line["template"]]] += 1
        groups, statements = collections.defaultdict(set), collections.defaultdict(set)
        for label, group in lines:
            groups[group].add(label)
            statements[label].add(group)
        right = 0
        for (label, group), count in lines.items():
            if len(groups[group]) == 1 and len(statements[label]) == 1:
                right += count
            elif show:
                print(f"  seed {seed}: {count} lines of {label} in {group}, which has {sorted(groups[group])}; "
                      f"the statement has {len(statements[label])} groups")
        return right, sum(lines.values())
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--jobs", type=int, default=40)
    p.add_argument("--seed", type=int, help="of the first job; drawn and printed if not given")
    p.add_argument("--max-ranks", type=int, default=64)
    p.add_argument("--min", type=float, default=0.98)
    p.add_argument("--show", action="store_true", help="says what is wrong")
    args = p.parse_args()
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 31)
    right = counted = 0
    for job in range(args.jobs):
        one = score(seed + job, args.max_ranks, args.show)
        right, counted = right + one[0], counted + one[1]
    accuracy = right / max(counted, 1)
    print(f"seeds {seed} to {seed + args.jobs - 1}: {counted} lines, {accuracy:.2%} in the group of their statement")
    return 0 if counted and accuracy >= args.min else 1


if __name__ == "__main__":
    sys.exit(main())
