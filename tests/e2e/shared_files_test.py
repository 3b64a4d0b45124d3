#!/usr/bin/env python3
"""Two agents that see one directory of a network file system (case 47): one reads each file, the one
on the host of its writer; when it is killed the other goes on, and each line is there once."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Cluster, Program, eventually  # noqa: E402

CONFIG = """
files:
  - glob: {dir}/*.log
    job: shared
    path: 'rank-(?P<rank>\\d+)\\.log$'
discover: {{runs: false}}
"""
WRITER = """
import sys, time
n = 0
while True:
    print("line", n, flush=True)
    n += 1
    time.sleep(0.01)
"""
SHIM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "network_fs.c")


class NetworkMount:
    """The environment in which a directory is one of a network file system."""

    def __init__(self, library, directory):
        self.library, self.directory = library, directory

    def environment(self, base):
        return dict(base, LD_PRELOAD=self.library, LGR_NETWORK_DIR=self.directory)


class SharedFiles(unittest.TestCase):
    def setUp(self):
        self.writers = []

    def tearDown(self):
        for writer in self.writers:
            writer.kill()
            writer.wait()

    def write(self, path, rank):
        environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2",
                           LOGARITHM_JOB="shared")
        with open(path, "ab") as out:
            self.writers.append(subprocess.Popen([sys.executable, "-c", WRITER], stdout=out,
                                                 env=environment))

    def streams_read(self, cluster):
        """How many streams of the job each living agent follows, ascending."""
        return sorted(sum(stream["job"] == "shared" for stream in agent["streams"])
                      for agent in cluster.get("/status")["agents"] if agent["alive"])

    def test_one_reads(self):
        with tempfile.TemporaryDirectory(prefix="lgr-shared-") as shared, Cluster() as cluster:
            library = cluster.path("network_fs.so")
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, SHIM], check=True)
            mount = NetworkMount(library, shared)
            cluster.clocks["agent"] = mount
            with open(cluster.config, "w", encoding="utf-8") as file:
                file.write(CONFIG.format(dir=shared))
            cluster.start_aggregator()
            # The other host sees the files, and none of the processes.
            elsewhere = cluster.path("elsewhere-proc")
            os.mkdir(elsewhere)
            for name in os.listdir("/proc"):
                if not name.isdigit() and not name.endswith("self"):
                    os.symlink(os.path.join("/proc", name), os.path.join(elsewhere, name))
            other = Program("logarithm-agent",
                            ["--config", cluster.config, "--aggregator", f"ws://{cluster.address}",
                             "--state-dir", cluster.path("other-state"), "--metrics", "off",
                             "--proc-root", elsewhere], cluster.path("other.log"),
                            mount.environment(dict(os.environ))).start()
            self.addCleanup(other.kill)
            cluster.start_agent()
            for rank in range(2):
                self.write(os.path.join(shared, f"rank-{rank}.log"), rank)

            def count(rank):
                return cluster.get("/jobs/shared/count", rank=rank)["count"]

            eventually(lambda: count(0) > 300 and count(1) > 300, what="lines of both ranks")
            eventually(lambda: self.streams_read(cluster) == [0, 2],
                       what="one agent reads both files")
            streams = cluster.get("/jobs/shared/streams")["streams"]
            self.assertEqual(len(streams), 2, streams)
            processes = cluster.get("/jobs/shared/processes")["processes"]
            self.assertEqual(sorted(p["rank"] for p in processes), [0, 1])
            line, = cluster.get("/jobs/shared/lines", rank=1, limit=1)["lines"]
            self.assertEqual((line["rank"], line["attempt"]), (1, 0))

            cluster.agent.kill()
            before = count(1)
            eventually(lambda: count(0) > before + 500 and count(1) > before + 500, timeout=120,
                       what="the other agent goes on")
            # The first comes back: its processes write them.
            cluster.start_agent()
            eventually(lambda: self.streams_read(cluster) == [0, 2], timeout=120,
                       what="one agent reads both files again")
            for writer in self.writers:
                writer.kill()
                writer.wait()
            for rank in range(2):
                with open(os.path.join(shared, f"rank-{rank}.log"), "rb") as file:
                    written = file.read()
                eventually(lambda: count(rank) == written.count(b"\n"), what="all lines")
                stored = cluster.cli("export", "shared", "--rank", str(rank), "--output", "raw")
                self.assertEqual(stored, written)
            eventually(lambda: cluster.get("/jobs/shared/count")["completeness"]["complete"],
                       what="complete")


if __name__ == "__main__":
    unittest.main(verbosity=2)
