#!/usr/bin/env python3
"""Questions over 10 million lines of 1,024 ranks, as triage_scale.py --keep DIR left them.

    questions_scale.py DIR [--rounds 3]

Correlations, selective queries, a literal that nothing prunes, and compare over all ranks: wall
and CPU of the aggregator, warm (each is asked once before; what that took is said, too). Bars:
correlate p50 200 ms; query p50 10 ms, p99 50 ms; literal 1 GB/s of raw text per core; compare 2 s
of CPU.
"""
import argparse
import os
import statistics
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from scale_job import JOB, Server, eventually  # noqa: E402

RETRY, LOSS = '|= "retrying batch"', '| loss > 3.5'
SLOW, TALL = '|~ "batch ready in 39[.]9 ms"', '| grad_norm > 1.49'
CORRELATIONS = (
    # first, then, by, within
    (RETRY, TALL, "rank", "2i"), (RETRY, TALL, "rank", "10s"), (RETRY, TALL, "host", "2i"),
    (RETRY, '|= "training failed"', "rank", "30s"), (RETRY, '|= "training failed"', "host", "30s"),
    (RETRY, '|= "bad sample"', "rank", "5i"), (RETRY, RETRY, "rank", "10i"), (RETRY, RETRY, "host", "3s"),
    ('{rank="517"} ' + RETRY, '| loss > 2', "rank", "1i"), ('{host="node017"} ' + RETRY, TALL, "host", "5s"),
    ('{rank="37"} ' + SLOW, '| loss > 2', "rank", "1i"), ('{rank="37"}', TALL, "rank", "1i"),
    ('{rank="517"} |= "batch ready"', '|= "bad sample"', "rank", "3s"), (SLOW, RETRY, "rank", "1i"),
    (SLOW, RETRY, "host", "2s"), ('| loss > 3.79', RETRY, "rank", "3i"), ('| loss < 1.9', RETRY, "rank", "1i"),
    (TALL, RETRY, "rank", "2i"), (TALL, '|= "training failed"', "rank", "60s"),
    ('{severity="error"}', '|= "RuntimeError"', "host", "10s"),
    ('| grad_norm > 99', '| loss > 2', "rank", "2i"))
QUERIES = [(word, rank) for word in ("retrying", "failed", "RuntimeError", "skipping", "2441")
           for rank in (0, 17, 37, 255, 517, 640, 800, 900, 1001, 1023)]


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def ms(seconds):
    return f"{seconds * 1000:.1f} ms"


def ask_all(server, name, path, questions, rounds):
    """Prints each question's costs and gives (walls, CPUs) of the warm rounds."""
    walls, cpus, first = [], [], []
    for question in questions:
        first.append(server.ask(path, **question)[1])
        before, times = server.cpu(), []
        for _ in range(rounds):
            answer, wall = server.ask(path, **question)
            times.append(wall)
        cpu = (server.cpu() - before) / rounds
        walls += times
        cpus.append(cpu)
        print(f"  {ms(statistics.median(times)):>10} wall {ms(cpu):>10} CPU  "
              f"{answer.get('count', len(answer.get('lines', ())))} found  "
              f"{', '.join(str(value) for value in question.values())}; first {ms(first[-1])}", flush=True)
    print(f"{name}: {len(questions)} questions: p50 {ms(statistics.median(walls))} wall, "
          f"{ms(statistics.median(cpus))} CPU; p99 {ms(percentile(walls, 0.99))} wall, most "
          f"{ms(max(cpus))} CPU; first asked: p50 {ms(statistics.median(first))}", flush=True)
    return walls, cpus


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", default="query,literal,compare,correlate")
    options = parser.parse_args()
    parts = options.parts.split(",")
    deadline = os.path.join(options.dir, "aggregator.yaml")
    with open(deadline, "w", encoding="utf-8") as file:
        file.write("query:\n  deadline: 600s\n")
    with Server(data=os.path.join(options.dir, "data")) as server:
        server.aggregator_arguments = ["--config", deadline]
        server.start_aggregator()
        eventually(lambda: server.stored() > 0, what="the job")
        lines = server.stored()
        raw = server.get(f"/jobs/{JOB}")["jobs"][0]["bytes"]
        print(f"{lines:,} lines, {int(raw) / 1e6:.0f} MB", flush=True)
        if "query" in parts:
            ask_all(server, "query, word and rank", f"/jobs/{JOB}/lines",
                    [{"query": f'|= "{word}"', "rank": rank} for word, rank in QUERIES], options.rounds)
        for literal in ("rved 66.9999", "zqzqzq", "GiB, reserved 67.") if "literal" in parts else ():
            server.ask(f"/jobs/{JOB}/count", query=f'|= "{literal}"')
            answer, wall, cpu = server.measured(f"/jobs/{JOB}/count", query=f'|= "{literal}"')
            print(f"literal {literal!r}: {answer['count']} found, {wall:.2f} s, {cpu:.2f} s CPU: "
                  f"{int(raw) / 1e9 / max(cpu, 0.01):.2f} GB/s per core", flush=True)
        for turn in ("first", "warm") if "compare" in parts else ():
            answer, wall, cpu = server.measured(f"/jobs/{JOB}/compare")
            print(f"compare, {turn}: ranks {answer['ranks']}, first divergence {answer['first_divergence']}, "
                  f"{len(answer['departures'])} departures: {wall:.2f} s, {cpu:.2f} s CPU", flush=True)
        if "compare" in parts:
            answer, wall, cpu = server.measured(f"/jobs/{JOB}/compare", first="true")
            print(f"compare, first divergence alone: {answer['first_divergence']}: {wall:.2f} s, {cpu:.2f} s CPU")
        if "correlate" in parts:
            ask_all(server, "correlate", f"/jobs/{JOB}/correlate",
                    [{"first": a, "then": b, "by": by, "within": w} for a, b, by, w in CORRELATIONS], options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
