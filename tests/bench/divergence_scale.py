#!/usr/bin/env python3
"""The first divergent iteration over the real programs: 64 ranks x 20,000 iterations, one departure.

    divergence_scale.py [--ranks 64] [--iterations 20000] [--keep DIR]

Through agent and aggregator, then `compare` (all ranks) and its `first` (by the hashes alone) must
both name the rank and the iteration; wall and CPU of the calls.
"""
import argparse
import os
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from scale_job import JOB, ScaleJob, Server, write_config  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--iterations", type=int, default=20_000)
    parser.add_argument("--keep", help="a directory for the logs and the data, which stay")
    options = parser.parse_args()
    folder = options.keep or tempfile.mkdtemp(prefix="lgr-scale-")
    at = (options.ranks * 37 // 64, options.iterations * 2 // 3 + 7)
    job = ScaleJob(os.path.join(folder, "logs"), options.ranks, options.iterations, departure=at, noise=False)
    try:
        with Server(data=os.path.join(folder, "data")) as server:
            write_config(server, job.logs)
            server.start_aggregator()
            if not os.path.exists(job.logs):
                job.write()
                began = time.monotonic()
                server.agent_once()
                print(f"{job.lines:,} lines in {time.monotonic() - began:.0f} s, aggregator {server.cpu():.1f} s CPU",
                      flush=True)
                server.settle()
            met = True
            for name, parameters in (("by hashes", {"first": "true"}), ("by hashes", {"first": "true"}),
                                     ("all ranks", {}), ("all ranks", {})):
                answer, wall, cpu = server.measured(f"/jobs/{JOB}/compare", **parameters)
                found = answer["first_divergence"]
                right = found == {"iteration": at[1], "rank": at[0]}
                met = met and right
                print(f"{name}: rank {found and found['rank']} at {found and found['iteration']} "
                      f"({'right' if right else f'WRONG: {at}'}), {wall:.3f} s, {cpu:.3f} s CPU", flush=True)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
