#!/usr/bin/env python3
"""SIGHUP: both programs read configuration and rules again; a mistake of the configuration changes nothing, a
bad rule is left out and the others run, both are told; nothing is lost or repeated meanwhile (case 77)."""
import os
import signal
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Cluster, eventually  # noqa: E402

AGENT = """files:
  - glob: {dir}/{glob}
    job: reload
    path: 'w-(?P<rank>\\d+)\\.'
discover: {{processes: false, runs: false, kernel_log: false}}
rules: [{dir}/rules.yaml]
{more}
"""
RULES = """rules:
  - name: walk
    match: 'line (?P<{key}>\\d+)'
    fields: {{{key}: int}}
"""


class Reload(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(self.cluster.close)
        self.out = self.cluster.path("out")
        os.makedirs(self.out)
        self.rules("first")
        self.configure()

    def rules(self, key, text=None):
        with open(f"{self.out}/rules.yaml", "w", encoding="utf-8") as file:
            file.write(text or RULES.format(key=key))

    def configure(self, glob="w-*.log", more=""):
        with open(self.cluster.config, "w", encoding="utf-8") as file:
            file.write(AGENT.format(dir=self.out, glob=glob, more=more))

    def start(self):
        self.cluster.aggregator_arguments = ["--config", self.cluster.path("aggregator.yaml")]
        self.aggregator("query: {deadline: 10s}\n")
        self.cluster.start_aggregator().start_agent()
        self.append("w-0.log", "line 0\n")
        eventually(lambda: self.count() == 1, what="the first line")

    def aggregator(self, text):
        with open(self.cluster.path("aggregator.yaml"), "w", encoding="utf-8") as file:
            file.write(text)

    def append(self, name, text):
        with open(f"{self.out}/{name}", "a", encoding="utf-8") as file:
            file.write(text)

    def count(self):
        return self.cluster.get("/jobs/reload/count")["count"]

    def hup(self, program):
        program.child.send_signal(signal.SIGHUP)

    def agent_problems(self, kind="config_problems"):
        agents = self.cluster.get("/status")["agents"]
        return [] if not agents else agents[0][kind]

    def lines(self):
        return self.cluster.get("/jobs/reload/lines", limit=10000, direction="forward")["lines"]

    def test_rules_and_files_of_the_agent(self):
        self.start()
        self.rules("second")
        self.configure(glob="w-*.*")
        self.append("w-1.txt", "line 7\n")
        self.hup(self.cluster.agent)
        eventually(lambda: self.count() == 2, what="the new file's line")
        self.append("w-0.log", "line 1\n")
        eventually(lambda: self.count() == 3, what="a line after the reload")
        metas = {line["text"]: line.get("meta", {}) for line in self.lines()}
        self.assertEqual(metas["line 0"].get("first"), 0)
        self.assertEqual(metas["line 1"].get("second"), 1)
        self.assertNotIn("first", metas["line 1"])
        self.assertEqual(self.agent_problems(), [])

    def test_a_mistake_changes_nothing_and_is_told_until_it_is_put_right(self):
        self.start()
        mistakes = [lambda: self.configure(more="nonsense: 1"),
                    lambda: self.configure(more="spool: {max_bytes: lots}"),
                    lambda: os.unlink(self.cluster.config)]
        for number, mistake in enumerate(mistakes):
            self.rules("first")
            self.configure()
            mistake()
            self.hup(self.cluster.agent)
            eventually(lambda: any("not reloaded" in p for p in self.agent_problems()),
                       what=f"mistake {number} told")
            self.append("w-0.log", f"line {number + 1}\n")
            eventually(lambda n=number: self.count() == n + 2, what="lines go on")
            self.assertTrue(all("first" in line["meta"] for line in self.lines()))
            self.rules("first")
            self.configure()
            self.hup(self.cluster.agent)
            eventually(lambda: self.agent_problems() == [], what=f"mistake {number} forgotten")
        self.assertTrue(self.cluster.agent.alive())

    def test_a_bad_rule_is_left_out_and_told_and_the_others_and_the_files_are_taken(self):
        self.start()
        self.append("w-1.txt", "line 100\n")
        self.rules("", RULES.format(key="second") + "  - name: x\n    match: '(unclosed'\n")
        self.configure(glob="w-*.*")
        self.hup(self.cluster.agent)
        told = eventually(lambda: self.agent_problems("rule_problems"), what="told")
        self.assertEqual(len(told), 1, told)
        self.assertIn("rules.yaml:6: rules[1].match: ", told[0])
        eventually(lambda: self.count() == 2, what="the new file's line")
        self.append("w-0.log", "line 1\n")
        eventually(lambda: self.count() == 3, what="lines go on")
        self.rules("", "rules: [unclosed\n")
        self.hup(self.cluster.agent)
        eventually(lambda: any("rules[1]" not in p for p in self.agent_problems("rule_problems")),
                   what="a file that is no YAML told")
        self.append("w-0.log", "line 2\n")
        eventually(lambda: self.count() == 4, what="lines go on")
        os.unlink(f"{self.out}/rules.yaml")
        self.hup(self.cluster.agent)
        eventually(lambda: any("rules[0]: cannot read" in p
                               for p in self.agent_problems("rule_problems")), what="no file told")
        self.rules("first")
        self.hup(self.cluster.agent)
        eventually(lambda: self.agent_problems("rule_problems") == [], what="put right")
        self.append("w-0.log", "line 3\n")
        eventually(lambda: self.count() == 5, what="lines go on")
        metas = {line["text"]: line.get("meta", {}) for line in self.lines()}
        self.assertEqual(metas["line 1"].get("second"), 1)
        self.assertNotIn("second", metas["line 2"])
        self.assertNotIn("first", metas["line 2"])
        self.assertEqual(metas["line 3"].get("first"), 3)
        self.assertEqual(self.agent_problems(), [])
        self.assertIn("left out of the rules", self.cluster.agent.tail(100000))

    def test_what_needs_a_restart_is_named(self):
        self.start()
        self.configure(more="host: elsewhere\nmetrics: 127.0.0.1:0")
        self.hup(self.cluster.agent)
        told = eventually(self.agent_problems, what="told")
        self.assertTrue(any(p.startswith("host:") and "restart" in p for p in told), told)

    def test_the_aggregator(self):
        self.start()
        self.aggregator("query: {deadline: 20s}\nlisten: 127.0.0.1:1\nlog_level: warning\n")
        self.hup(self.cluster.aggregator)
        state = eventually(lambda: self.cluster.get("/status")["reload"]["ok"] == 1
                           and self.cluster.get("/status")["reload"], what="reloaded")
        self.assertEqual(state["needs_restart"], [])  # the command line says where
        self.aggregator("query: {deadline: soon}\nstray: 1\n")
        self.hup(self.cluster.aggregator)
        state = eventually(lambda: self.cluster.get("/status")["reload"]["last_failed"]
                           and self.cluster.get("/status")["reload"], what="refused")
        self.assertEqual(len(state["problems"]), 2, state)
        with urllib.request.urlopen(f"http://{self.cluster.address}/metrics") as answer:
            metrics = answer.read().decode()
        self.assertIn('logarithm_aggregator_reloads_total{result="ok"} 1', metrics)
        self.assertIn('logarithm_aggregator_reloads_total{result="failed"} 1', metrics)
        self.append("w-0.log", "line 1\n")
        eventually(lambda: self.count() == 2, what="ingest goes on")

    def test_tokens_of_the_aggregator(self):
        self.start()
        self.aggregator("tokens: [{token: secret}]\n")
        self.hup(self.cluster.aggregator)
        eventually(lambda: self.cluster.request("/jobs")[0] == 401, what="a token is needed")
        self.append("w-0.log", "line 1\n")
        self.aggregator("")
        self.hup(self.cluster.aggregator)
        eventually(lambda: self.cluster.request("/jobs")[0] == 200, what="no token is needed")
        # The agent was sent away meanwhile; one that is refused tries again every minute.
        eventually(lambda: self.count() == 2, timeout=90, what="the agent is back")

    def test_case_77_reloads_every_100_ms_with_100_busy_files(self):
        self.configure(glob="w-*.*")
        self.start()
        files = [open(f"{self.out}/w-{n}.busy", "ab", buffering=0) for n in range(100)]
        written, reloads, end = 0, 0, time.monotonic() + 10
        while time.monotonic() < end:
            for file in files:
                file.write(b"line %d of %d\n" % (written, file.fileno()))
                if written % 7 == 3:
                    file.write(b"line and half of ")
                    file.write(b"one\n")
            written += 1
            if written % 10 == 0:
                self.rules("first" if reloads % 2 else "second")
            self.hup(self.cluster.agent)
            reloads += 1
            time.sleep(0.1)
        for file in files:
            file.close()
        wanted = 1
        for n in range(100):
            with open(f"{self.out}/w-{n}.busy", "rb") as file:
                wanted += file.read().count(b"\n")
        eventually(lambda: self.count() >= wanted, timeout=120, what=f"{wanted} lines")
        self.assertEqual(self.count(), wanted)
        for n in (0, 50, 99):
            raw = self.cluster.cli("export", "reload", "--rank", str(n), "--output", "raw",
                                   "--stream", f"{self.out}/w-{n}.busy", check=False)
            with open(f"{self.out}/w-{n}.busy", "rb") as file:
                self.assertEqual(raw.stdout, file.read(), raw.stderr)
        self.assertEqual(self.cluster.agent.stop(), 0)
        log = self.cluster.agent.tail(100000)
        self.assertGreater(log.count("reloaded rules="), 5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
