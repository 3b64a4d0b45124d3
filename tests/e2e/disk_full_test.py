#!/usr/bin/env python3
"""Full disks (case 98): under the data directory, under the agent's spool, under both. Nothing that the
files still hold is lost or repeated, nobody is restarted, queries are answered all the while.

The disks are small tmpfs mounts; without the right to mount, the tests are skipped by name."""
import os
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Cluster, eventually  # noqa: E402

JOB = "full"
AGENT = """files:
  - glob: {dir}/w-*.log
    job: full
    path: 'w-(?P<rank>\\d+)\\.log'
discover: {{processes: false, kernel_log: false}}
spool: {{max_bytes: 16MiB, segment_bytes: 256KiB, min_free: {spool_free}}}
"""
AGGREGATOR = """store: {{min_free: {free}, part_bytes: 1MiB}}
retention: {{min_free: {retention}}}
"""
FILES = 4


def may_mount():
    probe = "/tmp/lgr-may-mount"
    os.makedirs(probe, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", probe],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if done.returncode == 0:
        subprocess.run(["umount", probe], check=False)
    os.rmdir(probe)
    return done.returncode == 0


class Disk:
    """A tmpfs of so many MiB, and a file that fills it."""

    def __init__(self, path, mib):
        self.path = path
        os.makedirs(path, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", path], check=True)

    def free(self):
        facts = os.statvfs(self.path)
        return facts.f_bavail * facts.f_frsize

    def fill(self, leave=0):
        with open(os.path.join(self.path, "filler"), "ab", buffering=0) as file:
            try:
                while self.free() > leave:
                    file.write(b"x" * min(1 << 16, max(self.free() - leave, 1)))
            except OSError:
                pass  # full

    def empty(self):
        os.unlink(os.path.join(self.path, "filler"))

    def close(self):
        subprocess.run(["umount", "-l", self.path], check=False)


@unittest.skipUnless(may_mount(), "needs the right to mount a tmpfs")
class DiskFull(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.disks, self.written = {}, 0
        os.makedirs(self.cluster.path("out"))
        self.addCleanup(self.close)

    def close(self):
        for program in (self.cluster.agent, self.cluster.aggregator):
            if program:
                program.kill()
        for disk in self.disks.values():
            disk.close()
        self.cluster.close()

    def start(self, disks, free="0", spool_free="0", retention="0"):
        for name, mib in disks.items():
            self.disks[name] = Disk(self.cluster.path(name), mib)
        with open(self.cluster.config, "w", encoding="utf-8") as config:
            config.write(AGENT.format(dir=self.cluster.path("out"), spool_free=spool_free))
        with open(self.cluster.path("aggregator.yaml"), "w", encoding="utf-8") as config:
            config.write(AGGREGATOR.format(free=free, retention=retention))
        self.cluster.aggregator_arguments = ["--config", self.cluster.path("aggregator.yaml")]
        self.cluster.start_aggregator().start_agent()
        self.pids = [self.cluster.aggregator.child.pid, self.cluster.agent.child.pid]

    def write(self, lines):
        for file in range(FILES):
            with open(f"{self.cluster.path('out')}/w-{file}.log", "ab") as out:
                for n in range(self.written, self.written + lines):
                    out.write(b"w%d line %d %s\n" % (file, n, os.urandom(24).hex().encode()))
        self.written += lines

    def count(self):
        return self.cluster.get(f"/jobs/{JOB}/count")["count"]

    def complete(self, timeout=120):
        """Every line is visible once, and nobody was restarted."""
        wanted = FILES * self.written
        eventually(lambda: self.count() >= wanted, timeout=timeout, what=f"{wanted} lines")
        keys, cursor = set(), None
        seen = 0
        while True:
            page = self.cluster.get(f"/jobs/{JOB}/lines", limit=10000, direction="forward",
                                    **({"cursor": cursor} if cursor else {}))
            for line in page["lines"]:
                seen += 1
                keys.add(tuple(line["text"].split()[:3]))
            cursor = page["next"]
            if cursor is None:
                break
        self.assertEqual(seen, wanted)
        self.assertEqual(len(keys), wanted)
        for program, pid in zip((self.cluster.aggregator, self.cluster.agent), self.pids):
            self.assertTrue(program.alive(), program.tail())
            self.assertEqual(program.child.pid, pid)

    def stays_up(self, seconds=6):
        """For a while: questions are answered, nobody ends."""
        end = time.monotonic() + seconds
        before = self.count()
        while time.monotonic() < end:
            self.assertGreaterEqual(self.count(), before)
            self.assertTrue(self.cluster.aggregator.alive(), self.cluster.aggregator.tail())
            self.assertTrue(self.cluster.agent.alive(), self.cluster.agent.tail())
            time.sleep(0.25)

    def test_case_98_reserve_of_the_data_directory(self):
        self.start({"data": 48}, free="8MiB")
        self.write(500)
        self.complete()
        self.disks["data"].fill(leave=4 << 20)
        eventually(lambda: self.cluster.get("/status")["storage"]["read_only"], what="read-only")
        self.write(3000)
        self.stays_up()
        self.assertEqual(self.count(), FILES * 500)
        self.disks["data"].empty()
        self.complete()
        self.assertFalse(self.cluster.get("/status")["storage"]["read_only"])

    def test_case_98_data_directory_full_to_the_last_byte(self):
        self.start({"data": 32})
        self.write(500)
        self.complete()
        self.disks["data"].fill()
        self.write(3000)
        self.stays_up()
        self.assertTrue(self.cluster.get("/status")["storage"]["read_only"])
        self.disks["data"].empty()
        self.complete()

    def test_spool_full(self):
        self.start({"state": 8})
        self.write(500)
        self.complete()
        self.disks["state"].fill()
        self.write(3000)
        self.stays_up()
        self.disks["state"].empty()
        self.complete()

    def test_spool_full_before_anything_was_written(self):
        self.start({"state": 8}, spool_free="1MiB")
        self.disks["state"].fill()
        self.write(2000)
        time.sleep(3)
        self.assertTrue(self.cluster.agent.alive(), self.cluster.agent.tail())
        self.disks["state"].empty()
        self.complete()

    def test_both_full(self):
        self.start({"data": 32, "state": 8})
        self.write(500)
        self.complete()
        for disk in self.disks.values():
            disk.fill()
        self.write(2000)
        self.stays_up()
        self.disks["state"].empty()
        self.write(500)
        self.stays_up(3)
        self.disks["data"].empty()
        self.complete()

    def test_both_full_and_nobody_empties_them_before_a_kill(self):
        self.start({"data": 32, "state": 8})
        self.write(500)
        self.complete()
        for disk in self.disks.values():
            disk.fill()
        self.write(2000)
        time.sleep(2)
        self.cluster.agent.kill()
        self.cluster.aggregator.kill()
        for disk in self.disks.values():
            disk.empty()
        self.cluster.start_aggregator().start_agent()
        self.pids = [self.cluster.aggregator.child.pid, self.cluster.agent.child.pid]
        self.complete()

    def test_both_programs_start_on_full_disks(self):
        self.start({"data": 64, "state": 8})
        self.write(500)
        self.complete()
        eventually(lambda: os.path.exists(self.cluster.path("data", "ballast")), what="ballast")
        for disk in self.disks.values():
            disk.fill()
        self.cluster.agent.kill()
        self.cluster.aggregator.kill()
        for disk in self.disks.values():
            disk.fill()
        self.write(500)
        self.cluster.start_aggregator().start_agent()
        self.pids = [self.cluster.aggregator.child.pid, self.cluster.agent.child.pid]
        self.assertEqual(self.count(), FILES * 500)
        self.disks["data"].fill()
        self.stays_up()
        for disk in self.disks.values():
            disk.empty()
        self.complete()

    def test_case_98_retention_makes_room(self):
        """The oldest shards go, ingest goes on by itself, and answers say what is missing."""
        self.start({"data": 24}, free="4MiB", retention="8MiB")
        for _ in range(30):
            self.write(2000)
            time.sleep(0.5)
            if self.cluster.get("/status")["storage"]["retired"] > 0:
                break
        status = eventually(lambda: self.cluster.get("/status")["storage"]["retired"] > 0
                            and self.cluster.get("/status")["storage"], what="a shard unlinked",
                            timeout=60)
        self.assertGreater(int(status["retired_bytes"]), 0)
        self.write(100)
        last = f"w0 line {self.written - 1} "
        eventually(lambda: any(line["text"].startswith(last) for line in self.cluster.get(
            f"/jobs/{JOB}/lines", rank="0", limit=5)["lines"]), what="the newest line", timeout=60)
        completeness = self.cluster.get(f"/jobs/{JOB}/count")["completeness"]
        self.assertIn("retention", " ".join(completeness["reasons"]))
        before = self.count()
        # An agent that lost its state brings nothing back.
        self.cluster.agent.stop()
        subprocess.run(["rm", "-rf", self.cluster.path("state")], check=True)
        self.cluster.start_agent()
        time.sleep(3)
        self.assertLessEqual(self.count(), before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
