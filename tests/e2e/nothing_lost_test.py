#!/usr/bin/env python3
"""Promise 1: a line that was in a followed file becomes visible exactly once, whatever is killed.

Two million numbered lines to 16 files over at least 60 s, each file renamed away three times, while
agent and aggregator are killed with SIGKILL 20 times each; the same with the agent's state directory
deleted once; and copytruncate rotation, where what is lost must lie in a gap and nowhere else.
LGR_LINES and LGR_SECONDS make it smaller."""
import collections
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Cluster, eventually, seed  # noqa: E402

LINES = int(os.environ.get("LGR_LINES", "2000000"))
SECONDS = float(os.environ.get("LGR_SECONDS", "62"))
FILES, RENAMES, KILLS = 16, 3, 20
JOB = "numbered"
CONFIG = """files:
  - glob: {dir}/w-*.log*
    job: numbered
    path: 'w-(?P<rank>\\d+)\\.log'
"""
NUMBERED = re.compile(rb'"text":"w(\d+) line (\d+) ')


class Writer(threading.Thread):
    """Writes whole numbered lines at a steady pace; rotates each file by rename."""

    def __init__(self, folder, lines, seconds):
        super().__init__()
        self.folder, self.lines, self.seconds = folder, lines, seconds
        self.rotate = set()  # files that are to be renamed away out of turn
        os.makedirs(folder)

    def name(self, file):
        return f"{self.folder}/w-{file}.log"

    def run(self):
        each = self.lines // FILES
        handles = [os.open(self.name(f), os.O_WRONLY | os.O_CREAT | os.O_APPEND) for f in range(FILES)]
        renamed = [0] * FILES
        done, began = 0, time.monotonic()
        while done < each:
            target = min(each, int(each * (time.monotonic() - began) / self.seconds) + 1)
            for file in range(FILES):
                text = b"".join(b"w%d line %d some text of a training step, value=%d.5\n" %
                                (file, n, n % 997) for n in range(done, target))
                view = memoryview(text)
                while view:
                    view = view[os.write(handles[file], view):]
                due = each * (renamed[file] + 1) // (RENAMES + 1) + file * each // 200
                wanted = file in self.rotate
                self.rotate.discard(file)
                if wanted or (renamed[file] < RENAMES and target >= due):
                    renamed[file] += 1
                    os.rename(self.name(file), f"{self.name(file)}.{renamed[file]}")
                    os.close(handles[file])
                    handles[file] = os.open(self.name(file), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            done = target
            time.sleep(0.02)
        for handle in handles:
            os.close(handle)


def counts(cluster, rank=None):
    """How often each (file, number) is visible, over the whole job or one rank of it."""
    seen = collections.Counter()
    more = "" if rank is None else f"&rank={rank}"
    request = urllib.request.Request(
        f"http://{cluster.address}/api/v1/jobs/{JOB}/lines?direction=forward{more}",
        headers={"Accept": "application/x-ndjson"})
    last = b""
    with urllib.request.urlopen(request, timeout=300) as answer:
        for line in answer:
            hit = NUMBERED.search(line)
            if hit:
                seen[(int(hit[1]), int(hit[2]))] += 1
            last = line
    if b'"end"' not in last:
        raise AssertionError(f"the stream of lines broke off: {last[:300]!r}")
    return seen


def count(cluster):
    return cluster.get(f"/jobs/{JOB}/count")


class NothingLost(unittest.TestCase):
    def killed_at_random(self, delete_state):
        random = seed()
        with Cluster() as cluster:
            folder = cluster.path("out")
            with open(cluster.config, "w", encoding="utf-8") as config:
                config.write(CONFIG.format(dir=folder))
            cluster.start_aggregator().start_agent()
            writer = Writer(folder, LINES, SECONDS)
            writer.start()
            began = time.monotonic()
            kills = sorted([(random.uniform(0.5, SECONDS), "agent") for _ in range(KILLS)] +
                           [(random.uniform(0.5, SECONDS), "aggregator") for _ in range(KILLS)])
            deletion = random.randrange(5, 15) if delete_state else -1
            agents_killed = 0
            for when, which in kills:
                time.sleep(max(0.0, began + when - time.monotonic()))
                if which == "agent":
                    cluster.agent.kill()
                    agents_killed += 1
                    if agents_killed == deletion:
                        shutil.rmtree(cluster.path("state"))
                    time.sleep(random.uniform(0, 0.3))
                    cluster.start_agent()
                else:
                    cluster.aggregator.kill()
                    time.sleep(random.uniform(0, 0.3))
                    cluster.start_aggregator()
            writer.join()
            wrote = LINES // FILES * FILES
            eventually(lambda: count(cluster)["count"] >= wrote, timeout=120, pause=0.5,
                       what=f"{wrote} lines visible")
            time.sleep(1.0)  # whatever would come twice has time to come
            seen = counts(cluster)
            twice = [key for key, times in seen.items() if times > 1]
            self.assertEqual(twice[:5], [], f"{len(twice)} lines twice")
            self.assertEqual(len(seen), wrote)
            answer = eventually(lambda: (lambda a: a["completeness"]["complete"] and a)(count(cluster)),
                                timeout=30, what="completeness")
            self.assertEqual(answer["count"], wrote)
            self.assertEqual(answer["completeness"]["streams"]["total"], FILES * (RENAMES + 1))
            self.assertEqual(answer["completeness"]["streams"]["gaps"], 0)

    def test_every_line_exactly_once_with_both_killed_twenty_times(self):
        self.killed_at_random(delete_state=False)

    def test_every_line_exactly_once_with_the_state_directory_deleted_too(self):
        self.killed_at_random(delete_state=True)


WRITER = """
import os, signal, sys, time
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
handle = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
number = 0
while not stopped:
    os.write(handle, b"w0 line %d some text\\n" % number)
    number += 1
    time.sleep(float(sys.argv[2]))
print(number)
"""


class CopyTruncate(unittest.TestCase):
    """cp app.log app.log.N; truncate app.log: what is written in between is lost for good."""

    def test_a_slow_writer_what_is_missing_lies_in_a_gap_and_every_gap_misses_something(self):
        self.assertEqual(self.rotate(seed(), 0.05), 0, "gaps where nothing is missing")

    def test_a_fast_writer_what_is_missing_lies_in_a_gap_and_every_gap_misses_something(self):
        self.assertEqual(self.rotate(seed(), 0.0005), 0, "gaps where nothing is missing")

    def rotate(self, random, pace):
        with Cluster() as cluster:
            folder = cluster.path("out")
            os.makedirs(folder)
            with open(cluster.config, "w", encoding="utf-8") as config:
                config.write(CONFIG.format(dir=folder))
            cluster.start_aggregator().start_agent()
            path = f"{folder}/w-0.log"
            # A process of its own: a thread would stand still whenever this one starts a program.
            writer = subprocess.Popen([sys.executable, "-c", WRITER, path, str(pace)],
                                      stdout=subprocess.PIPE)
            eventually(lambda: os.path.exists(path), what="the writer's file")
            for rotation in range(6):
                time.sleep(random.uniform(1.0, 3.0))
                subprocess.run(["cp", path, f"{path}.{rotation + 1}"], check=True)
                subprocess.run(["truncate", "-s", "0", path], check=True)
            time.sleep(2.0)
            writer.terminate()
            written = int(writer.communicate()[0])
            eventually(lambda: self.numbers(cluster)[-1:] == [written - 1], what="the last line")
            time.sleep(3.0)
            numbers = self.numbers(cluster)
            self.assertEqual(len(numbers), len(set(numbers)), "a line twice")
            missing = set(range(written)) - set(numbers)
            covered, false_gaps = set(), 0
            for stream, gap in self.gaps(cluster):
                before = max((n for n, s, offset in self.rows if s == stream and
                              offset < int(gap["from"])), default=-1)
                after = min((n for n in numbers if n > before), default=written)
                false_gaps += after == before + 1
                covered |= set(range(before + 1, after))
            self.assertEqual(missing - covered, set(), "missing outside of every gap")
            print(f"pace {pace}: {written} lines, {len(missing)} lost in gaps", flush=True)
            return false_gaps

    def numbers(self, cluster):
        request = urllib.request.Request(
            f"http://{cluster.address}/api/v1/jobs/{JOB}/lines?direction=forward",
            headers={"Accept": "application/x-ndjson"})
        row = re.compile(rb'"id":"([0-9a-f.]+):(\d+)".*"text":"w0 line (\d+) ')
        self.rows = []
        with urllib.request.urlopen(request, timeout=300) as answer:
            for line in answer:
                hit = row.search(line)
                if hit:
                    self.rows.append((int(hit[3]), hit[1].decode(), int(hit[2])))
        return sorted(n for n, _, _ in self.rows)

    @staticmethod
    def gaps(cluster):
        for stream in cluster.get(f"/jobs/{JOB}/streams")["streams"]:
            for gap in stream["gaps"]:
                yield stream["id"], gap


if __name__ == "__main__":
    unittest.main(verbosity=2)
