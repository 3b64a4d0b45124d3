#!/usr/bin/env python3
"""What the aggregator acknowledged and lost comes back: from the agents' spools and from the files.

The data directory is deleted while the aggregator is down, and under the running one; a shard is
damaged; a file is gone. Every line is visible once, or lies in a gap with a reason."""
import glob
import os
import shutil
import socket
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Cluster, eventually, seed  # noqa: E402

JOB = "kept"
CONFIG = """discover:
  kernel_log: false  # its shard would be a second one
files:
  - glob: {dir}/w-*.log*
    job: kept
    path: 'w-(?P<rank>\\d+)\\.log'
"""
FILES = 4


class Files:
    def __init__(self, folder):
        self.folder, self.written = folder, 0
        os.makedirs(folder)

    def path(self, file):
        return f"{self.folder}/w-{file}.log"

    def write(self, lines):
        for file in range(FILES):
            with open(self.path(file), "ab") as out:
                for n in range(self.written, self.written + lines):
                    out.write(b"w%d line %d some text of a training step\n" % (file, n))
        self.written += lines


def texts(cluster):
    """All lines of the job, as often as they are visible."""
    out, cursor = [], None
    while True:
        page = cluster.get(f"/jobs/{JOB}/lines", limit=10000, direction="forward",
                           **({"cursor": cursor} if cursor else {}))
        out += [line["text"] for line in page["lines"]]
        cursor = page["next"]
        if cursor is None:
            return out


class StoreLost(unittest.TestCase):
    def start(self, cluster, lines=1000):
        files = Files(cluster.path("out"))
        with open(cluster.config, "w", encoding="utf-8") as config:
            config.write(CONFIG.format(dir=files.folder))
        cluster.start_aggregator().start_agent()
        files.write(lines)
        self.complete(cluster, files)
        return files

    def complete(self, cluster, files, timeout=120):
        wanted = FILES * files.written

        def all_there():
            answer = cluster.get(f"/jobs/{JOB}/count")
            return answer["count"] >= wanted and answer["completeness"]["complete"] and answer

        answer = eventually(all_there, timeout=timeout, what=f"{wanted} lines, complete")
        self.assertEqual(answer["count"], wanted)
        seen = texts(cluster)
        self.assertEqual(len(seen), wanted)
        self.assertEqual(len(set(seen)), wanted, "a line twice")

    def test_data_directory_deleted_while_down(self):
        with Cluster() as cluster:
            files = self.start(cluster)
            cluster.aggregator.stop()
            shutil.rmtree(cluster.path("data"))
            files.write(500)
            cluster.start_aggregator()
            self.complete(cluster, files)
            files.write(500)
            self.complete(cluster, files)

    def test_data_directory_deleted_under_the_running_aggregator(self):
        with Cluster() as cluster:
            files = self.start(cluster)
            for name in os.listdir(cluster.path("data")):
                path = cluster.path("data", name)
                if os.path.isdir(path):
                    shutil.rmtree(path)
                elif name != "lock":
                    os.unlink(path)
            files.write(500)
            self.complete(cluster, files)
            self.assertGreater(cluster.get("/status")["storage"]["vanished"], 0)
            cluster.aggregator.kill()
            cluster.start_aggregator()
            self.complete(cluster, files)

    def test_shards_deleted_while_nobody_writes(self):
        with Cluster() as cluster:
            files = self.start(cluster)
            for path in glob.glob(cluster.path("data", "*", "*", "part-*")):
                os.unlink(path)
            eventually(lambda: cluster.get("/status")["storage"]["vanished"] > 0, what="noticed")
            self.complete(cluster, files)

    def test_a_damaged_shard_is_moved_aside_and_made_good(self):
        with Cluster() as cluster:
            files = self.start(cluster)
            cluster.aggregator.stop()
            shard, = glob.glob(cluster.path("data", "*", "*", "part-*.db"))
            with open(shard, "r+b") as file:
                file.write(b"\0" * 4096)
            cluster.start_aggregator()
            self.complete(cluster, files)
            self.assertEqual(len(glob.glob(shard + ".bad")), 1)

    def test_both_restart_with_the_data_gone(self):
        with Cluster() as cluster:
            files = self.start(cluster)
            cluster.agent.stop()
            cluster.aggregator.stop()
            shutil.rmtree(cluster.path("data"))
            cluster.start_aggregator().start_agent()
            self.complete(cluster, files)

    def test_a_rotated_file_comes_back_and_a_removed_one_is_had_from_the_spool(self):
        with Cluster() as cluster:
            files = self.start(cluster)
            os.rename(files.path(0), files.path(0) + ".1")
            os.unlink(files.path(1))
            time.sleep(8)  # both streams end
            cluster.aggregator.stop()
            shutil.rmtree(cluster.path("data"))
            cluster.start_aggregator()
            self.complete(cluster, files)

    def test_what_nobody_has_any_more_is_a_gap_with_a_reason(self):
        with Cluster() as cluster:
            files = Files(cluster.path("out"))
            with open(cluster.config, "w", encoding="utf-8") as config:
                config.write(CONFIG.format(dir=files.folder) + "spool:\n  segment_bytes: 64KiB\n")
            cluster.start_aggregator().start_agent()
            files.write(1000)
            self.complete(cluster, files)
            os.unlink(files.path(1))
            time.sleep(8)
            # The spool moves on: nothing of that file is left in it.
            gone = [f"w1 line {n} some text of a training step" for n in range(1000)]
            with open(files.path(0), "ab") as out:
                for n in range(files.written, 16_000):
                    out.write(b"w0 line %d noise %s\n" % (n, os.urandom(16).hex().encode()))
            there = FILES * 1000 + 15_000
            eventually(lambda: cluster.get(f"/jobs/{JOB}/count")["count"] == there, timeout=120,
                       what="the noise")
            time.sleep(1)
            cluster.aggregator.stop()
            shutil.rmtree(cluster.path("data"))
            cluster.start_aggregator()
            eventually(lambda: cluster.get(f"/jobs/{JOB}/count")["count"] == there - 1000,
                       timeout=120, what="what the files hold")

            def gaps():
                return [gap for stream in cluster.get(f"/jobs/{JOB}/streams")["streams"]
                        for gap in stream["gaps"]]

            found = eventually(gaps, what="the gap")
            self.assertEqual([(gap["from"], gap["reason"]) for gap in found],
                             [("0", "store_lost")])
            self.assertEqual(int(found[0]["to"]), sum(len(line) + 1 for line in gone))
            # Nothing is told or sent again when the aggregator comes back whole.
            cluster.aggregator.stop()
            cluster.start_aggregator()
            time.sleep(3)
            self.assertEqual(len(gaps()), 1)
            self.assertEqual(cluster.get(f"/jobs/{JOB}/count")["count"], there - 1000)


def stalled_reader(address):
    host, port = address.rsplit(":", 1)
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.connect((host, int(port)))
    reader.sendall(f"GET /api/v1/jobs/{JOB}/lines?direction=forward HTTP/1.1\r\nHost: {host}\r\n"
                   "Accept: application/x-ndjson\r\n\r\n".encode())
    return reader


def resident_mb(program):
    with open(f"/proc/{program.child.pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) // 1024
    return 0


class StalledReaders(unittest.TestCase):
    def test_fifty_readers_that_stall_keep_little_and_shut_nobody_out(self):
        with Cluster() as cluster:
            folder = Files(cluster.path("out"))
            with open(cluster.config, "w", encoding="utf-8") as config:
                config.write(CONFIG.format(dir=folder.folder))
            cluster.start_aggregator().start_agent()
            folder.write(50_000)
            eventually(lambda: cluster.get(f"/jobs/{JOB}/count")["count"] == FILES * 50_000,
                       timeout=120, what="all lines")
            time.sleep(3)
            before = resident_mb(cluster.aggregator)
            readers = [stalled_reader(cluster.address) for _ in range(50)]
            peak = 0
            for _ in range(40):
                peak = max(peak, resident_mb(cluster.aggregator))
                self.assertEqual(cluster.request("/jobs")[0], 200)
                time.sleep(0.25)
            after = resident_mb(cluster.aggregator)
            status = cluster.get("/status")["queries"]
            print(f"resident: before {before}, peak {peak}, stalled {after} MB; parked "
                  f"{status['parked']} evicted {status['evicted']}", flush=True)
            self.assertGreater(status["parked"], 10)
            self.assertLess(after, before + 100)
            for reader in readers:
                reader.close()


class Agents(unittest.TestCase):
    def test_an_import_is_not_listed_when_it_is_done(self):
        with Cluster() as cluster:
            cluster.start_aggregator()
            path = cluster.path("old.log")
            with open(path, "w", encoding="utf-8") as file:
                file.write("".join(f"line {n}\n" for n in range(100)))
            cluster.cli("import", "--job", "old", path)
            self.assertEqual(cluster.get("/jobs/old/count")["count"], 100)
            eventually(lambda: cluster.get("/status")["agents"] == [], timeout=5, what="no agent")

    def test_an_import_with_a_wrong_token_fails_at_once(self):
        with Cluster(aggregator_arguments=()) as cluster:
            config = cluster.path("aggregator.yaml")
            with open(config, "w", encoding="utf-8") as file:
                file.write("tokens:\n  - token: right\n    tenant: default\n")
            cluster.aggregator_arguments = ["--config", config]
            cluster.start_aggregator()
            path = cluster.path("old.log")
            with open(path, "w", encoding="utf-8") as file:
                file.write("line\n")
            for token in ((), ("--token", "wrong")):
                began = time.monotonic()
                done = cluster.cli(*token, "import", "--job", "old", path, check=False)
                self.assertLess(time.monotonic() - began, 15)  # it was 30 s of retries
                self.assertEqual(done.returncode, 1)
                self.assertIn(b"token", done.stderr)

    def test_after_a_restart_of_the_aggregator_open_streams_are_soon_complete(self):
        with Cluster() as cluster:
            files = Files(cluster.path("out"))
            with open(cluster.config, "w", encoding="utf-8") as config:
                config.write(CONFIG.format(dir=files.folder))
            cluster.start_aggregator().start_agent()
            files.write(100)

            def complete():
                answer = cluster.get(f"/jobs/{JOB}/count")
                return answer["count"] == 400 and answer["completeness"]["complete"]

            eventually(complete, what="complete")
            cluster.aggregator.kill()
            cluster.start_aggregator()
            eventually(lambda: any(a["connected"] for a in cluster.get("/status")["agents"]),
                       what="the agent is back")
            began = time.monotonic()
            eventually(complete, timeout=5, what="complete after the restart")
            print(f"complete {time.monotonic() - began:.2f} s after the agent was back", flush=True)


if __name__ == "__main__":
    seed()
    unittest.main(verbosity=2)
