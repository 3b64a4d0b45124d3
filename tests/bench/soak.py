#!/usr/bin/env python3
"""A long run with trouble: lines at a steady pace, a random fault every 20 seconds.

    soak.py [--minutes 30] [--lines 10000000] [--every 20]

Faults: kill (SIGKILL of a program, started again), stop (SIGSTOP for some seconds), cut (the
connection between agent and aggregator, for some seconds), fill (the file system of spool and
shards, for some seconds; needs root for a small tmpfs, else it is left out and said), rotate (some
files renamed away at once), clock (the agent's or the aggregator's wall clock, or both, an hour forth
or back, until the next such fault; needs libfaketime, else it is left out and said). The writer
renames each file away every few minutes besides. At the end every line has to be there exactly once, and
memory must not have grown: the most of the last third is compared with that of the second.
"""
import argparse
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import nothing_lost_test  # noqa: E402
from harness import Cluster, SteppedClock, eventually, seed  # noqa: E402

SMALL = 3 << 30  # bytes of the file system that is filled


class Proxy(threading.Thread):
    """Passes connections on to the aggregator; cut() ends them and refuses new ones for a while."""

    def __init__(self, target):
        super().__init__(daemon=True)
        self.target, self.pairs, self.cut_until = target, {}, 0.0
        self.server = socket.create_server(("127.0.0.1", 0))
        self.address = "%s:%d" % self.server.getsockname()
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.server, selectors.EVENT_READ)
        self.lock = threading.Lock()

    def cut(self, seconds):
        with self.lock:
            self.cut_until = time.monotonic() + seconds

    def close(self, one):
        other = self.pairs.pop(one, None)
        for end in (one, other):
            if end is not None:
                self.pairs.pop(end, None)
                self.selector.unregister(end)
                end.close()

    def accept(self, refuse):
        client, _ = self.server.accept()
        try:
            if refuse:
                raise OSError("cut")
            host, port = self.target().rsplit(":", 1)
            server = socket.create_connection((host, int(port)), timeout=5)
        except OSError:
            client.close()
            return
        self.pairs[client], self.pairs[server] = server, client
        for end in (client, server):
            end.settimeout(10)
            self.selector.register(end, selectors.EVENT_READ)

    def run(self):
        while True:
            ready = self.selector.select(timeout=0.2)
            with self.lock:
                refuse = time.monotonic() < self.cut_until
            if refuse:
                for one in list(self.pairs):
                    if one in self.pairs:
                        self.close(one)
            for key, _ in ready:
                if key.fileobj is self.server:
                    self.accept(refuse)
                elif key.fileobj in self.pairs:
                    try:
                        data = key.fileobj.recv(1 << 18)
                        if not data:
                            raise OSError("closed")
                        self.pairs[key.fileobj].sendall(data)
                    except OSError:
                        if key.fileobj in self.pairs:
                            self.close(key.fileobj)


def resident_kib(program):
    try:
        with open(f"/proc/{program.child.pid}/status", encoding="utf-8") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])
    except (OSError, TypeError, AttributeError):
        return 0


class Soak:
    def __init__(self, options, random):
        self.options, self.random = options, random
        self.cluster = Cluster()
        self.done = {}
        self.memory = {"agent": [], "aggregator": []}
        self.small = self.cluster.path("small")
        os.mkdir(self.small)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tmpfs", self.small],
                                 stderr=subprocess.DEVNULL, check=False).returncode == 0
        self.mounted = mounted
        if not mounted:
            print("no small file system could be mounted: 'fill' is left out", flush=True)
        self.with_clocks = SteppedClock.library() is not None
        if self.with_clocks:
            for name in ("agent", "aggregator"):
                self.cluster.clocks[name] = SteppedClock(self.cluster.path(f"clock-{name}"))
        else:
            print("no libfaketime: 'clock' is left out", flush=True)
        for name in ("data", "state"):
            os.mkdir(os.path.join(self.small, name))
            os.symlink(os.path.join(self.small, name), self.cluster.path(name))

    def close(self):
        self.cluster.close()
        if self.mounted:
            subprocess.run(["umount", "-l", self.small], check=False)

    def kill(self):
        if self.random.random() < 0.5:
            self.cluster.agent.kill()
            self.cluster.start_agent()
        else:
            self.cluster.aggregator.kill()
            self.cluster.start_aggregator()

    def stop(self):
        program = self.random.choice([self.cluster.agent, self.cluster.aggregator])
        os.kill(program.child.pid, signal.SIGSTOP)
        time.sleep(self.random.uniform(2, 8))
        os.kill(program.child.pid, signal.SIGCONT)

    def cut(self):
        self.proxy.cut(self.random.uniform(0.1, 8))

    def fill(self):
        path = os.path.join(self.small, "ballast")
        facts = os.statvfs(self.small)
        with open(path, "wb") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, facts.f_bavail * facts.f_frsize)
            except OSError:
                pass
            try:
                while True:
                    os.write(file.fileno(), b"x" * 65536)
            except OSError:
                pass
        time.sleep(self.random.uniform(2, 10))
        os.unlink(path)

    def rotate(self):
        for file in range(nothing_lost_test.FILES):
            if self.random.random() < 0.5:
                self.writer.rotate.add(file)

    def clock(self):
        step = self.random.choice([-3600, 0, 3600])
        for name in self.random.choice([["agent"], ["aggregator"], ["agent", "aggregator"]]):
            self.cluster.clocks[name].step(step)

    def run(self):
        cluster, options = self.cluster, self.options
        folder = cluster.path("out")
        with open(cluster.config, "w", encoding="utf-8") as config:
            config.write(nothing_lost_test.CONFIG.format(dir=folder))
        cluster.start_aggregator()
        self.proxy = Proxy(lambda: cluster.address)
        self.proxy.start()
        cluster.agents_address = self.proxy.address
        cluster.start_agent()
        seconds = options.minutes * 60
        writer = self.writer = nothing_lost_test.Writer(folder, options.lines, seconds)
        writer.start()
        faults = [self.kill, self.stop, self.cut, self.rotate]
        faults += [self.fill] if self.mounted else []
        faults += [self.clock] if self.with_clocks else []
        began, next_fault = time.monotonic(), options.every
        while writer.is_alive():
            time.sleep(1)
            now = time.monotonic() - began
            for name in self.memory:
                self.memory[name].append((now, resident_kib(getattr(cluster, name))))
            if now >= next_fault and now < seconds - 5:
                next_fault += options.every
                fault = self.random.choice(faults)
                self.done[fault.__name__] = self.done.get(fault.__name__, 0) + 1
                print(f"{now:.0f} s: {fault.__name__}", flush=True)
                fault()
        wrote = options.lines // nothing_lost_test.FILES * nothing_lost_test.FILES
        eventually(lambda: nothing_lost_test.count(cluster)["count"] >= wrote, timeout=300, pause=1,
                   what=f"{wrote} lines visible")
        time.sleep(2)
        print(f"faults: {self.done}")
        lines, twice, slowest = 0, 0, 0.0
        for rank in range(nothing_lost_test.FILES):  # one by one: the sum is ten million
            began = time.monotonic()
            seen = nothing_lost_test.counts(cluster, rank)
            slowest = max(slowest, time.monotonic() - began)
            lines += len(seen)
            twice += sum(times > 1 for times in seen.values())
        print(f"{wrote} lines written, {lines} seen, {twice} twice; a rank was read in {slowest:.1f} s "
              "at most", flush=True)
        flat = True
        for name, samples in self.memory.items():
            thirds = [max((kib for at, kib in samples if lo <= at / seconds < lo + 1 / 3), default=0)
                      for lo in (0, 1 / 3, 2 / 3)]
            flat = flat and thirds[2] <= 1.25 * thirds[1]
            print(f"{name}: most resident MiB by third {[round(kib / 1024) for kib in thirds]}",
                  flush=True)
        return 0 if lines == wrote and not twice and flat else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--every", type=float, default=20)
    soak = Soak(parser.parse_args(), seed())
    try:
        return soak.run()
    finally:
        soak.close()


if __name__ == "__main__":
    sys.exit(main())
