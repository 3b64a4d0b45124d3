#!/usr/bin/env python3
"""What watching costs: CPU and memory of both programs at a steady trickle.

    steady.py [--streams 64] [--rate 1000] [--seconds 30]

The budget of the agent with 64 busy streams is 0.5 % of a core at 1,000 lines a second, and 40 MiB.
"""
import argparse
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import visible  # noqa: E402
from visible import Cluster, cpu_seconds, eventually, resident_mib  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    visible.RANKS = options.streams
    with Cluster() as cluster:
        folder = cluster.path("logs")
        os.mkdir(folder)
        with open(cluster.config, "w", encoding="utf-8") as file:
            file.write(visible.CONFIG.format(dir=folder))
        cluster.start_aggregator().start_agent()
        written, never = [0] * options.streams, threading.Event()
        visible.write_lines(folder, options.rate, 3, written, never)
        eventually(lambda: cluster.get("/jobs/bench/count")["count"] == sum(written), timeout=60,
                   what="the first lines")
        programs = {"agent": cluster.agent, "aggregator": cluster.aggregator}
        before = {name: cpu_seconds(program) for name, program in programs.items()}
        first, began = sum(written), time.monotonic()
        visible.write_lines(folder, options.rate, options.seconds, written, never)
        took = time.monotonic() - began
        print(f"{options.streams} streams, {(sum(written) - first) / took:,.0f} lines/s for {took:.0f} s")
        for name, program in programs.items():
            used = cpu_seconds(program) - before[name]
            print(f"{name}: {100 * used / took:.2f} % of a core, {resident_mib(program):.0f} MiB resident")
    return 0


if __name__ == "__main__":
    sys.exit(main())
