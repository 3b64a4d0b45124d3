#!/usr/bin/env python3
"""Case 73 over real connections: a fleet that loses its aggregator and finds it again.

    storm.py [--agents 1000] [--down 0.2,1,3,7]

The agents are real uplinks in one process (target `fleet`). The aggregator is killed, and started
again after each number of seconds that `--down` names. Printed: arrivals in each second, and the
most in a bin of 100 ms over the mean. Exit status 1 when that is 3 or more.
"""
import argparse
import collections
import os
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from harness import BIN, Cluster, eventually  # noqa: E402

BIN_MS = 100

class Fleet(threading.Thread):
    def __init__(self, address, agents):
        super().__init__(daemon=True)
        self.events = []
        self.child = subprocess.Popen([os.path.join(BIN, "fleet"), f"ws://{address}", str(agents)],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL)
        self.start()

    def run(self):
        for line in self.child.stdout:
            words = line.split()
            if len(words) == 3 and words[0] in (b"try", b"in", b"failed"):  # the rest is a log
                self.events.append((words[0].decode(), int(words[1]), int(words[2])))

    def since(self, what, when):
        return [(at, agent) for kind, at, agent in list(self.events) if kind == what and at >= when]

    def end(self):
        self.child.stdin.close()
        self.child.wait(10)

def now_ms():
    return time.monotonic_ns() // 1_000_000

def storm(cluster, fleet, agents, down):
    killed = now_ms()
    cluster.aggregator.kill()
    time.sleep(down)
    cluster.start_aggregator()
    up = now_ms()
    eventually(lambda: len({agent for _, agent in fleet.since("in", killed)}) == agents, timeout=60,
               what="everybody is back")
    first = {}
    for at, agent in fleet.since("in", killed):
        first.setdefault(agent, at)
    arrivals = sorted(first.values())
    bins = collections.Counter((at - arrivals[0]) // BIN_MS for at in arrivals)
    ratio = max(bins.values()) * (max(bins) + 1) / agents
    seconds = collections.Counter((at - arrivals[0]) // 1000 for at in arrivals)
    print(f"down {(up - killed) / 1000:.1f} s: {agents} back from {arrivals[0] - up} to "
          f"{arrivals[-1] - up} ms after it was up; peak to mean {ratio:.2f}; in each second "
          f"{[seconds[i] for i in range(max(seconds) + 1)]}; attempts that failed "
          f"{len(fleet.since('failed', killed))}", flush=True)
    return ratio

def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--down", default="0.2,1,3,7")
    options = parser.parse_args()
    worst = 0.0
    with Cluster() as cluster:
        cluster.start_aggregator()
        fleet = Fleet(cluster.address, options.agents)
        eventually(lambda: len(fleet.since("in", 0)) == options.agents, timeout=60,
                   what="the fleet is there")
        for down in [float(text) for text in options.down.split(",")]:
            time.sleep(6)  # sessions that lasted begin again with the first round
            worst = max(worst, storm(cluster, fleet, options.agents, down))
        fleet.end()
    return 0 if worst < 3 else 1

if __name__ == "__main__":
    sys.exit(main())
