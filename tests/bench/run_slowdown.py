#!/usr/bin/env python3
"""How much `logarithm run` slows a command that writes at full speed.

    run_slowdown.py [--rounds 8] [--lines 800000] [--pipe]

Alternating: into a file (plain); the same beside a process that only computes (spin) and beside one
that only copies memory (copy): what this machine itself takes when its other core is busy; by `run`;
by `run` with an agent that follows (agent), and with that agent under SIGSTOP (stopped). The
aggregator is on this host, too, which it would not be. Ratios to plain: of the medians, of the least
times, and of the least CPU times; the bar is 1.01 for agent and stopped, of what spin and copy leave.
"""
import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from harness import BIN, Cluster  # noqa: E402

WRITER = """import os, sys, time
piece = b'x' * 115 + b'\\n'
began, used = time.monotonic(), time.process_time()
for _ in range(int(sys.argv[2])): os.write(1, piece)
took, used = time.monotonic() - began, time.process_time() - used
open(sys.argv[1], 'a').write(f'{took} {used}\\n')
"""
BESIDE = {"spin": "while True: pass",
          "copy": "a = bytes(64 << 20)\nwhile True: bytearray(a)"}
KINDS = ("plain", "spin", "copy", "run", "agent", "stopped")


def measure(options, folder):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("LOGARITHM_")}
    environment["XDG_STATE_HOME"] = os.environ["XDG_STATE_HOME"] = folder
    shown = subprocess.PIPE if options.pipe else subprocess.DEVNULL
    with Cluster() as cluster:
        with open(cluster.config, "w", encoding="utf-8") as file:
            file.write("discover:\n  runs: true\n")
        cluster.start_aggregator().start_agent()
        agent = cluster.agent.child
        for turn in range(options.rounds):
            shift = turn % len(KINDS)
            for kind in KINDS[shift:] + KINDS[:shift]:
                agent.send_signal(signal.SIGCONT if kind == "agent" else signal.SIGSTOP)
                command = [sys.executable, "-c", WRITER, os.path.join(folder, kind),
                           str(options.lines)]
                if kind in ("run", "agent", "stopped"):
                    command = [os.path.join(BIN, "logarithm"), "run", "--job", kind, "--", *command]
                    subprocess.run(command, check=True, stdout=shown, env=environment)
                    continue
                beside = None
                if kind in BESIDE:
                    beside = subprocess.Popen([sys.executable, "-c", BESIDE[kind]])
                # A file of its own, as each run has.
                with open(os.path.join(folder, f"out-{turn}-{kind}"), "wb") as out:
                    subprocess.run(command, stdout=out, check=True)
                if beside:
                    beside.kill()
                    beside.wait()
        agent.send_signal(signal.SIGCONT)


def report(folder):
    times = {}
    for kind in KINDS:
        with open(os.path.join(folder, kind), encoding="utf-8") as file:
            times[kind] = [tuple(map(float, line.split())) for line in file]
    print(f"plain: {statistics.median(t for t, _ in times['plain']):.3f} s, load "
          f"{os.getloadavg()[0]:.1f}")
    for kind in KINDS[1:]:
        pairs = list(zip(times["plain"], times[kind]))
        least, cpu = (min(b[i] for _, b in pairs) / min(a[i] for a, _ in pairs) for i in (0, 1))
        ratios = sorted(b[0] / a[0] for a, b in pairs)
        print(f"{kind}: median ratio {statistics.median(ratios):.3f} ({ratios[0]:.3f} to "
              f"{ratios[-1]:.3f}), least times {least:.3f}, least CPU times {cpu:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--lines", type=int, default=800_000)
    parser.add_argument("--pipe", action="store_true", help="what is shown is read by this script")
    options = parser.parse_args()
    # In memory: what a disk does at the same time is not our subject.
    folder = tempfile.mkdtemp(prefix="lgr-run-", dir="/dev/shm")
    try:
        measure(options, folder)
        report(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
