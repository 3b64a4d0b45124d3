"""Starts the real programs on loopback for the end-to-end tests. Standard library only."""
import contextlib
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("LGR_BIN", os.path.join(ROOT, "build/release/bin"))


def seed():
    """A seed for the test's random choices: LGR_SEED, or a fresh one; printed."""
    value = int(os.environ.get("LGR_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"seed {value} (set LGR_SEED to repeat)", flush=True)
    return random.Random(value)


class BadAnswer(AssertionError):
    """A status other than 200."""


def eventually(check, timeout=30.0, what="condition", pause=0.05):
    """The first true answer of check(); fails with the last one after `timeout` seconds."""
    end = time.monotonic() + timeout
    last = None
    while time.monotonic() < end:
        try:
            last = check()
        except (OSError, urllib.error.URLError, json.JSONDecodeError, BadAnswer) as problem:
            last = problem
        if last and not isinstance(last, Exception):
            return last
        time.sleep(pause)
    raise AssertionError(f"{what}: not within {timeout:g} s; last answer {last!r}")


class Program:
    """One of our programs as a child; its output goes to a file."""

    def __init__(self, name, arguments, log, environment=None):
        self.name, self.arguments, self.log, self.child = name, arguments, log, None
        self.environment = environment  # instead of ours

    def start(self):
        with open(self.log, "ab") as out:
            self.child = subprocess.Popen([os.path.join(BIN, self.name), *self.arguments],
                                          stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                          env=self.environment)
        return self

    def alive(self):
        return self.child is not None and self.child.poll() is None

    def kill(self):
        """SIGKILL: what a crash looks like."""
        if self.alive():
            self.child.kill()
        if self.child:
            self.child.wait()

    def stop(self, timeout=20):
        """SIGTERM; the exit status."""
        if self.alive():
            self.child.send_signal(signal.SIGTERM)
        return self.child.wait(timeout) if self.child else 0

    def tail(self, lines=30):
        with contextlib.suppress(OSError), open(self.log, errors="replace") as log:
            return "".join(log.readlines()[-lines:])
        return ""


class SteppedClock:
    """A wall clock that is stepped for a program that was started with its environment(), through
    libfaketime. The monotonic clock and the times of files stay as they are."""

    @staticmethod
    def library():
        found = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
        return found[0] if found else None

    def __init__(self, path):
        self.path = path
        self.step(0)

    def step(self, seconds):
        """Sets it to the true time and so many seconds."""
        with open(self.path + ".new", "w", encoding="ascii") as file:
            file.write(f"{seconds:+d}\n")
        os.rename(self.path + ".new", self.path)

    def environment(self, base):
        return dict(base, LD_PRELOAD=self.library(), FAKETIME_TIMESTAMP_FILE=self.path,
                    FAKETIME_CACHE_DURATION="1", FAKETIME_DONT_FAKE_MONOTONIC="1",
                    NO_FAKE_STAT="1", FAKETIME_NO_CACHE="0")


class Cluster:
    """An aggregator and an agent in one temporary directory."""

    def __init__(self, agent_config="", agent_arguments=(), aggregator_arguments=()):
        self.dir = tempfile.mkdtemp(prefix="lgr-e2e-")
        self.ready = self.path("ready")
        self.config = self.path("agent.yaml")
        with open(self.config, "w", encoding="utf-8") as config:
            config.write(agent_config)
        self.aggregator_arguments = list(aggregator_arguments)
        self.agent_arguments = list(agent_arguments)
        self.aggregator = self.agent = None
        self.address = None
        self.agents_address = None  # where agents connect, when not to the aggregator itself
        self.clocks = {}  # of the programs that have one of their own: see SteppedClock
        self.state_home = self.path("state-home")  # the agent takes no runs of the one who tests

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def start_aggregator(self):
        """The first start picks a port; later ones take the same, as a restarted service would."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.ready)
        self.aggregator = Program("logarithm-aggregator",
                                  ["--listen", self.address or "127.0.0.1:0", "--data-dir",
                                   self.path("data"), "--ready-file", self.ready,
                                   *self.aggregator_arguments], self.path("aggregator.log"),
                                  self.environment_of("aggregator")).start()

        def is_ready():
            if not self.aggregator.alive():
                raise AssertionError("aggregator ended: " + self.aggregator.tail())
            with contextlib.suppress(FileNotFoundError), open(self.ready, encoding="utf-8") as file:
                return file.read().strip()

        self.address = eventually(is_ready, what="aggregator ready")
        return self

    def start_agent(self):
        self.agent = Program("logarithm-agent",
                             ["--config", self.config, "--aggregator",
                              f"ws://{self.agents_address or self.address}",
                              "--state-dir", self.path("state"), "--metrics", "off",
                              *self.agent_arguments], self.path("agent.log"),
                             self.environment_of("agent")).start()
        return self

    def environment_of(self, name):
        ours = dict(os.environ, XDG_STATE_HOME=self.state_home)
        return self.clocks[name].environment(ours) if name in self.clocks else ours

    def get(self, path, **parameters):
        """GET /api/v1<path> as JSON."""
        status, body = self.request(path, **parameters)
        if status != 200:
            raise BadAnswer(f"{path} {parameters}: {status} {body[:500]!r}")
        return json.loads(body)

    def request(self, path, **parameters):
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        url = f"http://{self.address}/api/v1{path}{query}"
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as problem:
            return problem.code, problem.read()

    def cli(self, *arguments, check=True, timeout=120):
        """The command `logarithm` against this aggregator: stdout as bytes."""
        done = subprocess.run([os.path.join(BIN, "logarithm"), *arguments], timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, LOGARITHM_SERVER=f"http://{self.address}"))
        if check and done.returncode != 0:
            raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr.decode()[:800]}")
        return done if not check else done.stdout

    def close(self):
        for program in (self.agent, self.aggregator):
            if program:
                program.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, problem, trace):
        if kind and not issubclass(kind, KeyboardInterrupt):
            for program in (self.aggregator, self.agent):
                if program:
                    print(f"--- {program.log}\n{program.tail()}", file=sys.stderr)
            if os.environ.get("LGR_KEEP"):
                for program in (self.agent, self.aggregator):
                    if program:
                        program.kill()
                print(f"kept {self.dir}", file=sys.stderr)
                return False
        self.close()
        return False


def cli_files(*arguments, timeout=300):
    """`logarithm` without a server (for --files): stdout as bytes."""
    done = subprocess.run([os.path.join(BIN, "logarithm"), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit {done.returncode}: {done.stderr.decode()[:800]}")
    return done.stdout
