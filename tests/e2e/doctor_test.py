#!/usr/bin/env python3
"""`logarithm-aggregator doctor`: what is damaged is moved aside, and agents make it good."""
import glob
import json
import os
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Cluster, eventually  # noqa: E402

CONFIG = """files:
  - glob: {dir}/*.log
    job: ward
discover: {{processes: false, kernel_log: false}}
"""


class Doctor(unittest.TestCase):
    def doctor(self, *more):
        return subprocess.run([os.path.join(BIN, "logarithm-aggregator"), "doctor", "--data-dir",
                               self.cluster.path("data"), *more], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)

    def test_a_damaged_block_is_found_moved_aside_and_made_good_by_the_agent(self):
        with Cluster() as cluster:
            self.cluster = cluster
            out = cluster.path("out")
            os.makedirs(out)
            with open(cluster.config, "w", encoding="utf-8") as config:
                config.write(CONFIG.format(dir=out))
            cluster.start_aggregator().start_agent()
            with open(f"{out}/a.log", "w", encoding="utf-8") as file:
                file.writelines(f"line {n} of the ward\n" for n in range(5000))
            eventually(lambda: cluster.get("/jobs/ward/count")["count"] == 5000, what="stored")

            beside = self.doctor()
            self.assertEqual(beside.returncode, 1)
            self.assertIn("--read-only", beside.stderr)
            look = self.doctor("--read-only", "--output", "json")
            self.assertEqual(look.returncode, 0, look.stdout + look.stderr)
            self.assertTrue(json.loads(look.stdout)["healthy"])

            cluster.aggregator.stop()
            self.assertEqual(self.doctor().returncode, 0)
            shard, = glob.glob(cluster.path("data", "*", "*", "part-*.db"))
            database = sqlite3.connect(shard)
            table = "inbox" if database.execute("SELECT count(*) FROM inbox").fetchone()[0] else "blocks"
            rowid, body = database.execute(f"SELECT id, body FROM {table} LIMIT 1").fetchone()
            body = body[:-3] + bytes(255 - value for value in body[-3:])
            database.execute(f"UPDATE {table} SET body=? WHERE id=?", (body, rowid))
            database.commit()
            database.close()

            found = self.doctor("--output", "json")
            self.assertEqual(found.returncode, 1)
            report = json.loads(found.stdout)
            self.assertFalse(report["healthy"])
            self.assertEqual(report["shards"][0]["damaged_blocks"], 1)
            self.assertEqual(len(glob.glob(shard + ".block-*.bad")), 1)
            self.assertEqual(self.doctor().returncode, 0)

            cluster.start_aggregator()
            eventually(lambda: cluster.get("/jobs/ward/count")["count"] == 5000, timeout=60,
                       what="sent again")
            eventually(lambda: cluster.get("/jobs/ward/count")["completeness"]["complete"],
                       what="complete")


if __name__ == "__main__":
    unittest.main(verbosity=2)
