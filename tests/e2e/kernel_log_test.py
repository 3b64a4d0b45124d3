#!/usr/bin/env python3
"""The kernel's log as the stream `kernel` of `_host`: what is written to it is asked for by its host."""
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Cluster, eventually  # noqa: E402


def may_write():
    try:
        os.close(os.open("/dev/kmsg", os.O_RDWR | os.O_NONBLOCK))
    except OSError:
        return False
    return True


@unittest.skipUnless(may_write(), "needs the right to write /dev/kmsg")
class KernelLog(unittest.TestCase):
    def say(self, text):
        with open("/dev/kmsg", "w", encoding="utf-8") as kmsg:
            kmsg.write(f"<3>{text}\n")

    def found(self, cluster, word):
        return cluster.get("/jobs/_host/lines", grep=word, limit=10)["lines"]

    def test_lines_survive_restarts_once(self):
        word = f"lgr-{os.getpid()}"
        with Cluster("discover: {processes: false, runs: false}\n") as cluster:
            cluster.start_aggregator().start_agent()
            self.say(f"{word} NVRM: Xid (PCI:0000:0a:00): 79, GPU has fallen off the bus.")
            line, = eventually(lambda: self.found(cluster, word), what="the line")
            self.assertEqual(line["stream"], "kernel")
            self.assertEqual(line["severity"], "error")
            self.assertEqual(line["meta"]["xid"], 79)
            self.assertNotIn("derived_time", line.get("flags", []))
            cluster.agent.kill()
            cluster.start_agent()
            self.say(f"{word} second")
            eventually(lambda: len(self.found(cluster, word)) >= 2, what="the second line")
            cluster.agent.kill()
            os.system(f"rm -rf {cluster.path('state')}")
            cluster.start_agent()
            self.say(f"{word} third")
            eventually(lambda: len(self.found(cluster, word)) >= 3, what="the third line")
            self.assertEqual(len(self.found(cluster, word)), 3)
            streams = cluster.get("/jobs/_host/streams")["streams"]
            self.assertEqual(len(streams), 1)

    def test_what_the_aggregator_lost_is_read_from_the_ring_again(self):
        word = f"lgr-lost-{os.getpid()}"
        with Cluster("discover: {processes: false, runs: false}\n") as cluster:
            cluster.start_aggregator().start_agent()
            for number in range(3):
                self.say(f"{word} {number}")
            eventually(lambda: len(self.found(cluster, word)) == 3, what="the lines")
            before = cluster.get("/jobs/_host/count")["count"]
            cluster.aggregator.kill()
            shutil.rmtree(cluster.path("data"))
            cluster.start_aggregator()
            self.say(f"{word} 3")
            eventually(lambda: len(self.found(cluster, word)) == 4, what="all lines again")
            count = eventually(lambda: (n := cluster.get("/jobs/_host/count"))["count"] > before
                               and n, what="the whole ring")
            self.assertTrue(count["completeness"]["complete"] or
                            "gaps" in count["completeness"]["reasons"], count)


if __name__ == "__main__":
    unittest.main(verbosity=2)
