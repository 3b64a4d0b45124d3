#!/usr/bin/env python3
"""What a user gets for a wrong question: the right status, and a message that says where."""
import json
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Cluster, eventually  # noqa: E402

CONFIG = """files:
  - glob: {dir}/rank-*.log
    job: asked
    path: 'rank-(?P<rank>\\d+)'
"""


class Errors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.close)
        folder = cls.cluster.path("out")
        os.makedirs(folder)
        with open(cls.cluster.config, "w", encoding="utf-8") as config:
            config.write(CONFIG.format(dir=folder))
        with open(f"{folder}/rank-3.log", "w", encoding="utf-8") as log:
            log.writelines(f"step={n} loss=0.{n}\n" for n in range(50))
        cls.cluster.start_aggregator().start_agent()
        eventually(lambda: cls.cluster.get("/jobs/asked/count")["count"] == 50, what="50 lines")

    def problem(self, status, path, **parameters):
        got, body = self.cluster.request(path, **parameters)
        self.assertEqual(got, status, body)
        problem = json.loads(body)
        self.assertEqual(problem["status"], status)
        self.assertTrue(problem["detail"])
        return problem

    def test_a_bad_regular_expression_is_400_with_the_reason(self):
        self.assertIn("missing", self.problem(400, "/jobs/asked/lines", grep="a(b")["detail"])
        self.assertIn("repetition", self.problem(400, "/jobs/asked/lines", grep="x{0,2048}")["detail"])
        self.assertIn("position", self.problem(400, "/jobs/asked/lines", query='|~ "a(b"'))

    def test_a_bad_logql_is_400_with_the_position(self):
        problem = self.problem(400, "/jobs/asked/lines", query='{rank="3"} | iteration >')
        self.assertEqual(problem["position"], len('{rank="3"} | iteration >'))

    def test_an_unknown_job_is_404(self):
        self.problem(404, "/jobs/nobody/lines")
        self.problem(404, "/jobs/nobody")

    def test_a_bad_cursor_is_400(self):
        self.problem(400, "/jobs/asked/lines", cursor="x")
        self.problem(400, "/jobs/asked/lines", cursor="AAAAAAAAAAAAAAAAAAAAAAAA")

    def test_unknown_and_out_of_range_parameters_are_400_and_named(self):
        self.assertIn("sevirity", self.problem(400, "/jobs/asked/lines", sevirity="error")["detail"])
        self.assertIn("10,000", self.problem(400, "/jobs/asked/lines", limit="10001")["detail"]
                      .replace("10000", "10,000"))
        self.problem(400, "/jobs/asked/lines", rank="3-")
        self.problem(400, "/jobs/asked/lines", direction="up")
        self.problem(404, "/nothing/here")

    def test_pages_join_to_the_whole_in_both_directions(self):
        for direction in ("forward", "backward"):
            texts, cursor = [], None
            while True:
                page = self.cluster.get("/jobs/asked/lines", limit=7, direction=direction,
                                        **({"cursor": cursor} if cursor else {}))
                texts += [l["text"] for l in page["lines"]]
                cursor = page["next"]
                if not cursor:
                    break
            want = [f"step={n} loss=0.{n}" for n in range(50)]
            self.assertEqual(texts, want if direction == "forward" else want[::-1])

    def test_context_is_the_lines_around_by_offset(self):
        line = self.cluster.get("/jobs/asked/lines", iteration="20")["lines"][0]
        around = self.cluster.get("/context", id=line["id"], before=2, after=1)["lines"]
        self.assertEqual([l["iteration"] for l in around], [18, 19, 20, 21])

    def test_a_wider_bind_without_a_token_is_refused(self):
        done = subprocess.run([os.path.join(BIN, "logarithm-aggregator"), "--listen", "0.0.0.0:0",
                               "--data-dir", self.cluster.path("other")], capture_output=True,
                              text=True, timeout=20)
        self.assertEqual(done.returncode, 78)
        self.assertIn("token", done.stderr)

    def test_a_bad_configuration_is_78_with_every_error(self):
        path = self.cluster.path("bad.yaml")
        with open(path, "w", encoding="utf-8") as config:
            config.write("agregator: ws://x\nspool:\n  max_bytes: lots\n")
        done = subprocess.run([os.path.join(BIN, "logarithm-agent"), "--config", path, "--check-config"],
                              capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, 78)
        self.assertIn(f"{path}:1: agregator", done.stdout + done.stderr)
        self.assertIn(f"{path}:3: spool.max_bytes", done.stdout + done.stderr)

    def test_usage_errors_are_64(self):
        for program in ("logarithm-agent", "logarithm-aggregator", "logarithm"):
            done = subprocess.run([os.path.join(BIN, program), "--no-such-flag"], capture_output=True,
                                  timeout=20)
            self.assertEqual(done.returncode, 64, program)


if __name__ == "__main__":
    unittest.main(verbosity=2)
