#!/usr/bin/env python3
"""The units: their hardening as systemd itself scores it, the agent's capabilities, and the programs'
side of the protocol (READY, WATCHDOG, STOPPING) over a real notify socket.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from harness import BIN, ROOT

UNITS = ["agent", "aggregator"]


def unit(name):
    with open(os.path.join(ROOT, f"systemd/logarithm-{name}.service"), encoding="utf-8") as file:
        return file.read()


class Units(unittest.TestCase):
    def test_exposure_is_at_most_two_and_a_half(self):
        self.assertIsNotNone(shutil.which("systemd-analyze"), "install the package systemd")
        for name in UNITS:
            path = os.path.join(ROOT, f"systemd/logarithm-{name}.service")
            said = subprocess.run(["systemd-analyze", "security", "--offline=true", path],
                                  stdout=subprocess.PIPE, text=True, check=True,
                                  env=dict(os.environ, LC_ALL="C.UTF-8")).stdout
            score = re.search(r"Overall exposure level for \S+: ([\d.]+)", said)
            print(score.group(0))
            self.assertLessEqual(float(score.group(1)), 2.5, said)

    def test_the_agent_has_exactly_three_capabilities(self):
        wanted = {"CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH", "CAP_SYSLOG"}
        for key in ("AmbientCapabilities", "CapabilityBoundingSet"):
            self.assertEqual(set(re.search(rf"^{key}=(.*)$", unit("agent"), re.M).group(1).split()), wanted)
        self.assertRegex(unit("aggregator"), r"(?m)^CapabilityBoundingSet=$")

    def test_no_directive_is_given_twice(self):
        for name in UNITS:
            keys = [line.split("=")[0] for line in unit(name).splitlines() if re.match(r"[A-Z]\w+=", line)]
            twice = {key for key in keys if keys.count(key) > 1} - {"SystemCallFilter"}
            self.assertEqual(twice, set())

    def test_the_programs_report_readiness_and_feed_the_watchdog(self):
        with tempfile.TemporaryDirectory(prefix="lgr-unit-") as top:
            for name in UNITS:
                arguments = {"agent": ["--aggregator", "ws://127.0.0.1:1", "--state-dir", top + "/state",
                                       "--metrics", "off", "--proc-root", top],
                             "aggregator": ["--listen", "127.0.0.1:0", "--data-dir", top + "/data"]}[name]
                manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                manager.bind(f"{top}/{name}.notify")
                manager.settimeout(30)
                program = subprocess.Popen(
                    [os.path.join(BIN, f"logarithm-{name}"), *arguments], stderr=subprocess.DEVNULL,
                    env=dict(os.environ, NOTIFY_SOCKET=f"{top}/{name}.notify", WATCHDOG_USEC="200000"))
                try:
                    heard = []
                    while heard.count("WATCHDOG=1") < 3 or "READY=1" not in heard:
                        heard.append(manager.recv(4096).decode())
                    program.send_signal(signal.SIGTERM)
                    while "STOPPING=1" not in heard:
                        heard.append(manager.recv(4096).decode())
                    self.assertEqual(program.wait(20), 0)
                finally:
                    program.kill()
                    program.wait()
                    manager.close()


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
