#!/usr/bin/env python3
"""Triage of a large job over the real programs: the verdict after the last line, and what --watch costs.

    triage_scale.py [--ranks 1024] [--lines 9800] [--keep DIR] [--watch-lines 1000] [--pairs 3]

First: the job's lines are stored, then its end is written; from the moment at which the last line
is visible, the time until the verdict is there (asked for the first time; bar 1 s), and again.
Then: a smaller one of it is ingested in turns with and without one `triage --watch`, `--pairs`
times; the aggregator's CPU per line (bar 2 % more). `--lines 0` or `--pairs 0` leave a part out;
with --keep the logs and the data stay in DIR for other benches.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from scale_job import BIN, JOB, LINES_AN_ITERATION, ScaleJob, Server, eventually, write_config  # noqa: E402

BAR_SECONDS, BAR_WATCH = 1.0, 0.02


def check(verdict, job):
    first, cascade = verdict["first"], verdict["cascade"]
    assert verdict["verdict"] == "failed" and verdict["kind"] == "exception", verdict["summary"]
    assert first["ranks"] == [job.failing], first
    assert cascade["count"] == job.ranks - 1, cascade


def ingest(server, job):
    before, began = server.cpu(), time.monotonic()
    server.agent_once()
    wall = time.monotonic() - began
    cpu = server.cpu() - before
    print(f"ingest: {job.lines:,} lines in {wall:.1f} s, aggregator {cpu:.2f} s CPU "
          f"({cpu / job.lines * 1e6:.2f} us a line), {server.resident_mib():.0f} MiB resident", flush=True)


def verdict_in_time(ranks, lines, folder):
    logs = os.path.join(folder, "logs")
    job = ScaleJob(logs, ranks, lines // LINES_AN_ITERATION)
    began = time.monotonic()
    size = job.write()
    print(f"{ranks} ranks, {job.lines:,} lines, {size / 1e6:.0f} MB written in {time.monotonic() - began:.0f} s",
          flush=True)
    with Server(data=os.path.join(folder, "data")) as server:
        write_config(server, logs)
        server.start_aggregator()
        ingest(server, job)
        server.start_agent()
        job.end()
        eventually(lambda: server.stored() >= job.lines, timeout=120, what="the last line", pause=0.01)
        verdict, wall, cpu = server.measured(f"/jobs/{JOB}/triage")
        check(verdict, job)
        print(f"verdict, first time: {wall:.2f} s, {cpu:.2f} s CPU (bar {BAR_SECONDS} s)", flush=True)
        again = [server.measured(f"/jobs/{JOB}/triage") for _ in range(5)]
        assert all(answer["summary"] == verdict["summary"] for answer, _, _ in again)
        print("again: " + ", ".join(f"{w:.2f} s ({c:.2f} s CPU)" for _, w, c in again), flush=True)
        server.agent.stop()
        server.settle()
        restarted(server, job)
    return wall <= BAR_SECONDS


def restarted(server, job):
    """Nothing in memory, everything sealed."""
    server.aggregator.stop()
    server.start_aggregator()
    verdict, wall, cpu = server.measured(f"/jobs/{JOB}/triage")
    check(verdict, job)
    print(f"after a restart: {wall:.2f} s, {cpu:.2f} s CPU; {server.resident_mib():.0f} MiB", flush=True)


def one_ingest(logs, job, watched):
    """The aggregator's CPU seconds until all is stored, and how many times triage was asked."""
    with Server() as server:
        write_config(server, logs)
        server.start_aggregator()
        watcher = None
        if watched:
            watcher = subprocess.Popen(
                ["sh", "-c", f"until {BIN}/logarithm triage {JOB} >/dev/null 2>&1; do sleep 0.2; done; "
                 f"exec {BIN}/logarithm triage {JOB} --watch"],
                env=dict(os.environ, LOGARITHM_SERVER=f"http://{server.address}"),
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        began = time.monotonic()
        server.agent_once()
        wall, cpu = time.monotonic() - began, server.cpu()
        asked = server.asked()
        if watcher:
            watcher.terminate()
            watcher.wait()
        return cpu, wall, asked


def watch_cost(ranks, lines, pairs):
    with tempfile.TemporaryDirectory(prefix="lgr-scale-") as logs:
        job = ScaleJob(logs, ranks, lines // LINES_AN_ITERATION)
        job.write()
        job.end()
        costs = {False: [], True: []}
        for pair in range(pairs):
            for watched in ((False, True) if pair % 2 == 0 else (True, False)):
                cpu, wall, asked = one_ingest(logs, job, watched)
                costs[watched].append(cpu / job.lines * 1e6)
                print(f"{'watched' if watched else 'alone  '}: {job.lines:,} lines, {wall:.1f} s, {cpu:.2f} s CPU, "
                      f"{costs[watched][-1]:.3f} us a line, {asked} questions", flush=True)
        alone, watched = statistics.median(costs[False]), statistics.median(costs[True])
        more = watched / alone - 1
        print(f"--watch: {alone:.3f} -> {watched:.3f} us a line: {more * 100:+.1f} % (bar {BAR_WATCH * 100:.0f} %)")
        return more <= BAR_WATCH


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--lines", type=int, default=9800, help="of each rank")
    parser.add_argument("--watch-lines", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--keep", help="a directory for the logs and the data, which stay")
    options = parser.parse_args()
    met = True
    if options.lines:
        folder = options.keep or tempfile.mkdtemp(prefix="lgr-scale-")
        try:
            met = verdict_in_time(options.ranks, options.lines, folder)
        finally:
            if not options.keep:
                shutil.rmtree(folder, ignore_errors=True)
    if options.pairs:
        met = watch_cost(options.ranks, options.watch_lines, options.pairs) and met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
