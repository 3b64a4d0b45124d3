#!/usr/bin/env python3
"""Case 61 over the real programs: wall clocks that are stepped by an hour, back and forth, while lines
flow. Needs libfaketime (Debian: libfaketime); without it the test is skipped."""
import collections
import datetime
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Cluster, SteppedClock, eventually

HOUR = 3600
RANKS = 4
PER_STEP = 300  # lines of each rank between two steps
CONFIG = """discover:
  processes: false
  runs: false
files:
  - glob: {dir}/*.log
    job: stepped
    path: 'rank-(?P<rank>\\d+)\\.log$'
"""


def seconds_of(text):
    return datetime.datetime.fromisoformat(text[:26].rstrip("Z") + "+00:00").timestamp()


@unittest.skipUnless(SteppedClock.library(), "no libfaketime")
class ClockStep(unittest.TestCase):
    def write(self, numbers, stamped):
        """One line every few milliseconds; a stamped one says the time of the agent's host."""
        for n in numbers:
            for rank in range(RANKS):
                stamp = ""
                if stamped and rank == 0:
                    now = datetime.datetime.fromtimestamp(time.time() + self.offset, datetime.timezone.utc)
                    stamp = now.strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z "
                self.files[rank].write(f"{stamp}INFO line {n} of rank {rank}\n")
                self.files[rank].flush()
            time.sleep(0.005)

    def lines(self, cluster):
        out, cursor = [], None
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = cluster.get("/jobs/stepped/lines", direction="forward", limit=10000, **more)
            out += page["lines"]
            cursor = page["next"]
            if not cursor:
                return out

    def test_steps_of_an_hour_lose_nothing_and_hold_nothing_up(self):
        with Cluster() as cluster:
            folder = cluster.path("logs")
            os.mkdir(folder)
            with open(cluster.config, "w", encoding="utf-8") as file:
                file.write(CONFIG.format(dir=folder))
            for name in ("agent", "aggregator"):
                cluster.clocks[name] = SteppedClock(cluster.path(f"clock-{name}"))
            cluster.start_aggregator().start_agent()
            self.files = [open(f"{folder}/rank-{rank}.log", "w", encoding="utf-8") for rank in range(RANKS)]
            self.offset, wrote, slowest = 0, 0, 0.0
            steps = [("agent", HOUR), ("aggregator", HOUR), ("agent", 0), ("aggregator", 0),
                     ("agent", -HOUR), ("aggregator", -HOUR), ("agent", 0), ("aggregator", 0)]
            for name, offset in [(None, 0), *steps]:
                if name:
                    cluster.clocks[name].step(offset)
                    time.sleep(1.1)  # it is looked at once a second
                if name == "agent":
                    self.offset = offset
                self.write(range(wrote, wrote + PER_STEP), stamped=True)
                wrote += PER_STEP
                began = time.monotonic()
                eventually(lambda: cluster.get("/jobs/stepped/count")["count"] == RANKS * wrote,
                           timeout=10, what=f"all lines after {name} {offset}")
                slowest = max(slowest, time.monotonic() - began)
                # Nobody is taken for dead, and nobody dead for alive.
                agent = cluster.get("/status")["agents"][0]
                self.assertTrue(agent["alive"], (name, offset))
                self.assertLess(agent["silent_seconds"], 5, (name, offset))
            found = self.lines(cluster)
            seen = collections.Counter(line["text"].split("INFO ")[1] for line in found)
            self.assertEqual(len(seen), RANKS * wrote)
            self.assertEqual(set(seen.values()), {1})
            times = [seconds_of(line["time"]) for line in found]
            self.assertEqual(times, sorted(times))
            now = time.time()
            self.assertGreater(min(times), now - HOUR - 300)
            self.assertLess(max(times), now + HOUR + 300)
            # Each step is seen in what was observed: the clocks were really stepped.
            observed = {round((seconds_of(line["observed"]) - now) / HOUR) for line in found}
            self.assertEqual(observed, {-1, 0, 1})
            # A stream's lines stand in the order of their offsets, but for where its clock went back.
            back = sum(b < a for a, b in zip([0] + [o for n, o in steps if n == "agent"],
                                             [o for n, o in steps if n == "agent"]))
            by_rank = collections.defaultdict(dict)
            for line in found:
                number = int(line["text"].split("line ")[1].split()[0])
                by_rank[line["rank"]][number] = seconds_of(line["time"])
            for rank, at in by_rank.items():
                falls = [n for n in range(1, wrote) if at[n] < at[n - 1]]
                self.assertLessEqual(len(falls), back, f"rank {rank}: {falls}")
            print(f"{RANKS * wrote} lines, 8 steps, all visible {slowest:.2f} s after the last was written "
                  "at most", flush=True)

    def test_a_silent_agent_is_missed_although_the_clock_went_back(self):
        with Cluster() as cluster:
            os.mkdir(cluster.path("logs"))
            with open(cluster.config, "w", encoding="utf-8") as file:
                file.write(CONFIG.format(dir=cluster.path("logs")))
            cluster.clocks["aggregator"] = SteppedClock(cluster.path("clock"))
            cluster.start_aggregator().start_agent()
            eventually(lambda: any(a["alive"] for a in cluster.get("/status")["agents"]), what="agent")
            os.kill(cluster.agent.child.pid, 19)
            cluster.clocks["aggregator"].step(-HOUR)
            eventually(lambda: not any(a["alive"] for a in cluster.get("/status")["agents"]),
                       timeout=20, what="the stopped agent is missed")


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
