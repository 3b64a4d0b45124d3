#!/usr/bin/env python3
"""Tail over the real programs: clients that come and go, a server that restarts, slow readers.

LGR_LINES (60000 by default) lines; from a million on the full acceptance: 50 reconnects and 5
restarts of the aggregator while they are written.
"""
import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness
from harness import BIN, Cluster, eventually
from websocket import Closed, WebSocket

LINES = int(os.environ.get("LGR_LINES", "60000"))
FULL = LINES >= 1_000_000
RECONNECTS, RESTARTS = (50, 5) if FULL else (12, 2)
STREAMS = 4


def config(directory):
    return ("discover:\n  processes: false\n  runs: false\nfiles:\n"
            f"  - glob: {directory}/*.log\n    job: tailed\n    path: 'rank-(?P<rank>\\d+)\\.log$'\n")


class Writer(threading.Thread):
    """Writes lines number `first` to `lines` to the ranks' files, evenly over `seconds`."""

    def __init__(self, directory, first, lines, seconds):
        super().__init__(daemon=True)
        self.directory, self.lines, self.seconds = directory, lines, seconds
        self.written = first

    def run(self):
        files = [open(os.path.join(self.directory, f"rank-{i}.log"), "a", encoding="utf-8")
                 for i in range(STREAMS)]
        began, batch = time.monotonic(), max(1, self.lines // 400)
        while self.written < self.lines:
            for _ in range(min(batch, self.lines - self.written)):
                n = self.written
                files[n % STREAMS].write(f"INFO line {n // STREAMS} of rank {n % STREAMS}\n")
                self.written += 1
            for file in files:
                file.flush()
            ahead = self.written / self.lines * self.seconds - (time.monotonic() - began)
            if ahead > 0:
                time.sleep(ahead)
        for file in files:
            file.close()


class Client:
    """Follows a tail over connections, and keeps what came, per rank."""

    def __init__(self, cluster, **parameters):
        self.cluster, self.parameters = cluster, parameters
        self.cursor, self.skipped, self.connections, self.socket = None, 0, 0, None
        self.numbers = {rank: [] for rank in range(STREAMS)}

    def count(self):
        return sum(len(numbers) for numbers in self.numbers.values())

    def connect(self):
        more = {"cursor": self.cursor} if self.cursor else {}
        self.connections += 1
        self.socket = WebSocket(self.cluster.address, "/api/v1/tail", **self.parameters, **more)
        return self.socket

    def take(self, message):
        record = json.loads(message)
        assert "error" not in record, record
        for line in record["lines"]:
            words = line["text"].split()
            self.numbers[line["rank"]].append(int(words[2]))
        self.skipped += record.get("skipped", 0)
        self.cursor = record["cursor"]


class Tail(unittest.TestCase):
    def cluster(self):
        cluster = Cluster()
        self.addCleanup(cluster.close)
        os.mkdir(cluster.path("logs"))
        with open(cluster.config, "w", encoding="utf-8") as file:
            file.write(config(cluster.path("logs")))
        for i in range(STREAMS):
            open(cluster.path("logs", f"rank-{i}.log"), "w", encoding="utf-8").close()
        cluster.start_aggregator().start_agent()
        return cluster

    def write(self, cluster, first, lines, seconds=0):
        writer = Writer(cluster.path("logs"), first, lines, seconds)
        writer.start()
        return writer

    def known_job(self, cluster):
        """The first line of each rank, so that there is a job to tail."""
        self.write(cluster, 0, STREAMS).join()
        eventually(lambda: cluster.get("/jobs/tailed/count")["count"] == STREAMS, what="first lines")

    def check_exact(self, numbers, lines):
        for rank, got in numbers.items():
            expected = list(range(len(range(rank, lines, STREAMS))))
            if got != expected:
                at = next((i for i, (a, b) in enumerate(zip(got, expected)) if a != b),
                          min(len(got), len(expected)))
                self.fail(f"rank {rank}: {len(got)} of {len(expected)} lines, differs at {at}: "
                          f"{got[max(0, at - 2):at + 3]}")

    @staticmethod
    def make_trouble(cluster, client, began, events):
        for at, what in events:
            time.sleep(max(0, at - (time.monotonic() - began)))
            if what == "cut":
                client.socket.cut()
                continue
            if what == "kill":
                cluster.aggregator.kill()
            else:
                cluster.aggregator.stop()
            cluster.start_aggregator()

    def test_union_over_reconnects_and_restarts(self):
        random = harness.seed()
        cluster = self.cluster()
        seconds = 120 if FULL else 12
        self.known_job(cluster)
        client = Client(cluster, job="tailed", start="-1h", max_behind="0s")
        client.take(client.connect().receive())
        self.assertEqual(client.count(), STREAMS)
        writer = self.write(cluster, STREAMS, LINES, seconds)
        began = time.monotonic()
        cuts = [(random.uniform(0, seconds), "cut") for _ in range(RECONNECTS)]
        stops = [(random.uniform(0.1, 0.9) * seconds, random.choice(["kill", "stop"]))
                 for _ in range(RESTARTS)]
        trouble = threading.Thread(target=self.make_trouble, daemon=True,
                                   args=(cluster, client, began, sorted(cuts + stops)))
        trouble.start()
        end = began + seconds * 6 + 60
        while client.count() < LINES and time.monotonic() < end:
            try:
                client.take(client.socket.receive())
            except (Closed, ValueError, OSError):
                try:
                    client.connect()
                except (Closed, OSError):
                    time.sleep(0.05)
        trouble.join()
        writer.join()
        self.check_exact(client.numbers, LINES)
        self.assertEqual(client.skipped, 0)
        print(f"{LINES} lines, {client.connections} connections, {RESTARTS} restarts, "
              f"{time.monotonic() - began:.1f} s", flush=True)

    def test_command_line_survives_a_restart(self):
        cluster = self.cluster()
        self.known_job(cluster)
        with open(cluster.path("out"), "wb") as out:
            tail = subprocess.Popen([os.path.join(BIN, "logarithm"), "tail", "tailed", "--since", "1h",
                                     "--output", "ndjson"], stdout=out, stderr=subprocess.PIPE,
                                    env=dict(os.environ,
                                             LOGARITHM_SERVER=f"http://{cluster.address}"))
        self.addCleanup(tail.kill)

        def lines():
            with open(cluster.path("out"), "rb") as out:
                return [json.loads(line) for line in out]

        eventually(lambda: len(lines()) == STREAMS, what="the lines since an hour")
        cluster.aggregator.kill()
        for i in range(STREAMS):
            with open(cluster.path("logs", f"rank-{i}.log"), "a", encoding="utf-8") as file:
                file.write("".join(f"INFO line {n} of rank {i}\n" for n in range(1, 500)))
        cluster.start_aggregator()
        eventually(lambda: len(lines()) >= 500 * STREAMS, what="the lines after the restart")
        tail.send_signal(signal.SIGINT)
        self.assertEqual(tail.wait(10), 0)
        said = tail.stderr.read().decode()
        self.assertIn("trying again", said)
        self.assertIn("connected again", said)
        numbers = {rank: [] for rank in range(STREAMS)}
        for line in lines():
            numbers[line["rank"]].append(int(line["text"].split()[2]))
        self.check_exact(numbers, 500 * STREAMS)

    def test_slow_readers_are_told_and_hold_nobody_up(self):
        cluster = self.cluster()
        self.known_job(cluster)
        slow = Client(cluster, job="tailed", max_behind="1s")
        socket = slow.connect()
        slow.take(socket.receive())
        others = []
        for _ in range(200 if FULL else 40):  # readers that read nothing at all
            others.append(WebSocket(cluster.address, "/api/v1/tail", job="tailed"))
        writer = self.write(cluster, STREAMS, LINES, 6)
        end = time.monotonic() + 120
        total = LINES - STREAMS  # the first ones were there before
        while slow.count() + slow.skipped < total and time.monotonic() < end:
            slow.take(socket.receive())
            if writer.is_alive():
                time.sleep(0.5)
        self.assertEqual(slow.count() + slow.skipped, total)
        # All of it arrived, though nobody could read so fast.
        eventually(lambda: cluster.get("/jobs/tailed/count")["count"] == LINES,
                   what="all lines stored")
        with open(f"/proc/{cluster.aggregator.child.pid}/status", encoding="utf-8") as status:
            memory = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        print(f"{slow.count()} lines taken, {slow.skipped} skipped, {len(others)} stalled readers, "
              f"{memory // 1024} MiB at most", flush=True)
        self.assertLess(memory, 600 << 10)
        for other in others:
            other.close()

    def test_what_cannot_be_tailed_is_said(self):
        cluster = self.cluster()
        self.known_job(cluster)
        for parameters, status in [({}, 400), ({"job": "tailed", "rank": "x"}, 400),
                                   ({"job": "tailed", "cursor": "abc"}, 400),
                                   ({"job": "tailed", "rankk": "1"}, 400)]:
            socket = WebSocket(cluster.address, "/api/v1/tail", **parameters)
            self.assertEqual(socket.status, status, parameters)
        socket = WebSocket(cluster.address, "/api/v1/tail", job="nobody's")
        self.assertEqual(json.loads(socket.receive())["error"]["status"], 404)
        one = Client(cluster, job="tailed")
        one.take(one.connect().receive())
        other = WebSocket(cluster.address, "/api/v1/tail", job="tailed", rank="1",
                          cursor=one.cursor)
        self.assertEqual(other.status, 400)
        long = WebSocket(cluster.address, "/api/v1/tail", job="tailed", cursor="-")
        long.send(one.cursor.encode())
        self.assertIn("cursor", json.loads(long.receive()))
        done = cluster.cli("tail", "--files", cluster.path("logs"), check=False)
        self.assertEqual(done.returncode, 64)
        done = cluster.cli("tail", "nobody's", check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"no such job", done.stderr)
        with self.assertRaises(AssertionError):
            cluster.get("/tail")


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
