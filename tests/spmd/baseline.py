#!/usr/bin/env python3
"""The simplest triage: the first line that looks like an error, by the stamps as they stand.

    baseline.py LOGDIR [--attempt N]

What a person with grep and sort finds, and a floor for other tools. Reads ranks from paths and
`[rankN]:`, takes clocks at their word, and never says "certain".
"""
import argparse
import json
import os
import re

RANK = re.compile(r"\[rank(\d+)\]:|^ *(\d+): ")
PATH = re.compile(r"(?:rank[._-]?|out-|err-|train-|stdout_|attempt_\d+/)(\d+)")
ATTEMPT = re.compile(r"attempt[-_](\d+)/|/pytorch/(\d+)\.log$")
STAMP = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[ T_](\d\d:\d\d:\d\d(?:[.,]\d+)?)")
BAD = re.compile(r"Traceback \(most|\bERROR\b|\b[A-Z]\w*Error: |\[E\d+|\[E |Fatal Python|NVRM: Xid|Out of memory: |out of memory: |"
                 r"CANCELLED AT|exited on signal|exitcode: -")
KINDS = [("CANCELLED AT|SIGTERM", "preemption"), ("out of memory: Kill|Out of memory: Kill", "host_oom"),
         ("CUDA out of memory", "gpu_oom"), ("Xid", "xid"), ("Watchdog caught", "collective_timeout"),
         ("Errno 28|Errno 116", "storage"), ("nan", "nan"), ("signal|exitcode: -", "killed"), ("", "exception")]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("logs")
    p.add_argument("--attempt", type=int)
    args = p.parse_args()
    best = None
    for folder, _, names in sorted(os.walk(args.logs)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            attempt = ATTEMPT.search(path)
            if args.attempt is not None and attempt and int(attempt[1] or attempt[2]) != args.attempt:
                continue
            hit = PATH.search(os.path.relpath(path, args.logs))
            own, now = int(hit[1]) if hit else None, ""
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.readlines()
            for i, line in enumerate(lines):
                stamp = STAMP.search(line)
                now = "-".join(stamp.groups()).replace(",", ".") if stamp else now
                if BAD.search(line) and (best is None or now < best[0]):
                    said = RANK.search(line)
                    rank = int(said[1] or said[2]) if said else own
                    best = (now, rank, "".join(lines[i:i + 30]))
                    break
    if best is None:
        print(json.dumps({"verdict": "healthy", "kind": None, "first": None}))
        return
    kind = next(k for pattern, k in KINDS if re.search(pattern, best[2]))
    first = {"ranks": [best[1]], "iteration": None, "certain": False} if best[1] is not None else None
    print(json.dumps({"verdict": "preempted" if kind == "preemption" else "failed", "kind": kind, "first": first}))


if __name__ == "__main__":
    main()
