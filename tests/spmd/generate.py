#!/usr/bin/env python3
"""Writes the log files of one SPMD training job and, beside them, what truly happened.

    generate.py --seed 7 --out /tmp/job7                 DIR/logs/… and DIR/truth.json
    generate.py --seed 7 --out /tmp/job7 --kind xid79    one kind (--list names them)
    --ranks 64 | --max-ranks 128                         the world, or its upper bound
    --lines-with-groups                                  DIR/groups.jsonl: the statement that printed each line

The same arguments give the same bytes. From Python: `from corpus.build import generate, build`.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from corpus.build import generate  # noqa: E402
from corpus.faults import HELD_OUT, KINDS  # noqa: E402


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out")
    p.add_argument("--kind", choices=sorted(KINDS))
    p.add_argument("--ranks", type=int, help="8 to 1024, a multiple of 4")
    p.add_argument("--max-ranks", type=int)
    p.add_argument("--lines-with-groups", action="store_true")
    p.add_argument("--list", action="store_true")
    args = p.parse_args()
    if args.list:
        print("\n".join(k + (" (held out)" if k in HELD_OUT else "") for k in sorted(KINDS)))
        return 0
    if not args.out:
        p.error("--out is needed")
    if args.ranks is not None and (not 8 <= args.ranks <= 1024 or args.ranks % 4):
        p.error("--ranks: 8 to 1024, a multiple of 4")
    if os.path.exists(os.path.join(args.out, "logs")):
        p.error(f"{args.out}/logs exists already")
    truth = generate(args.seed, args.out, args.kind, args.ranks, args.max_ranks, args.lines_with_groups)
    print(f"{args.out}: {truth['label']}, {truth['world']} ranks, {truth['launcher']}, {truth['logger']}, "
          f"{len(truth['files'])} files, {truth['lines']} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
