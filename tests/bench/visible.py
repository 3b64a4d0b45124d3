#!/usr/bin/env python3
"""Written -> visible, over the real programs: from the write of a line until a query answers it.

    visible.py [--rate LINES/S] [--seconds N] [--tails N] [--default-tails N] [--slow-tails N]

Sixteen ranks write at `--rate` together (default: half of what a first run with a full backlog
shows). Meanwhile a probe writes a line of its own five times a second and asks for it until it is
there; its times are compared with the product's own histogram (observed -> visible). `--tails`
holds that many live tails of a rank open, which want every line; `--default-tails` and `--slow-tails`
some that may skip. Of each the lines that came and those that it was told of have to be all, in order.
"""
import argparse
import contextlib
import os
import re
import statistics
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from harness import Cluster, eventually  # noqa: E402
from tail_readers import TailReaders  # noqa: E402

RANKS = 16
CONFIG = """discover:
  processes: false
  runs: false
files:
  - glob: {dir}/*.log
    job: bench
    path: 'rank-(?P<rank>\\d+)\\.log$'
"""
TEXT = ("INFO [trainer.py:{line}] iteration {n}/ 1000000 | lm loss: {loss:.6f} | grad norm: 1.234 | "
        "elapsed time per iteration (ms): 312.4\n")


def write_lines(folder, rate, seconds, written, stop):
    """Evenly, in ticks of 10 ms; `written` counts the lines of each rank."""
    files = [open(f"{folder}/rank-{rank}.log", "a", encoding="utf-8") for rank in range(RANKS)]
    began, done = time.monotonic(), 0
    total = int(rate * seconds)
    turn = 0  # whose is the next odd line
    while done < total and not stop.is_set():
        due = min(total, int((time.monotonic() - began) * rate) + 1)
        each, odd = divmod(due - done, RANKS)
        for rank, file in enumerate(files):
            n, more = written[rank], each + ((rank - turn) % RANKS < odd)
            if not more:
                continue
            file.write("".join(TEXT.format(line=100 + i % 7, n=i, loss=2 + i % 97 / 97)
                               for i in range(n, n + more)))
            file.flush()
            written[rank] += more
        turn += odd
        done = due
        time.sleep(0.01)
    for file in files:
        file.close()


def histogram(cluster):
    """The product's own: [(upper bound in seconds, count up to it)]."""
    with urllib.request.urlopen(f"http://{cluster.address}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    found = re.findall(r'logarithm_aggregator_freshness_seconds_bucket\{le="([^"]+)"\} (\d+)', text)
    return [(float(bound), int(count)) for bound, count in found]


def quantile_of(before, after, share):
    counts = [(bound, b - a) for (bound, b), (_, a) in zip(after, before)]
    total = counts[-1][1]
    return next((bound for bound, count in counts if count >= share * total), float("nan"))


def cpu_seconds(program):
    with open(f"/proc/{program.child.pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(program):
    with open(f"/proc/{program.child.pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) / 1024


def most_resident_mib(program):
    with open(f"/proc/{program.child.pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) / 1024


def maximum_rate(lines=600_000):
    """Lines per second of wall time when all are there at the start."""
    with Cluster() as cluster:
        folder = cluster.path("logs")
        os.mkdir(folder)
        write_lines(folder, 1e12, lines / 1e12, [0] * RANKS, threading.Event())
        with open(cluster.config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(dir=folder))
        cluster.start_aggregator()
        began = time.monotonic()
        cluster.start_agent()
        eventually(lambda: cluster.get("/jobs/bench/count")["count"] >= lines // RANKS * RANKS,
                   timeout=300, what="the backlog", pause=0.2)
        took = time.monotonic() - began
        print(f"backlog: {lines} lines in {took:.2f} s: {lines / took:,.0f} lines/s; CPU-seconds: "
              f"agent {cpu_seconds(cluster.agent):.2f}, aggregator "
              f"{cpu_seconds(cluster.aggregator):.2f}", flush=True)
        return lines / took


def wanted_tails(fast, default, slow):
    """[(rank, slow, parameters)]: fast ones want every line, the others may be told of skipped ones."""
    kinds = [(False, {"max_behind": "0s"})] * fast + [(False, {})] * default
    kinds += [(True, {"max_behind": "1s"})] * slow
    return [(i % RANKS, is_slow, parameters) for i, (is_slow, parameters) in enumerate(kinds)]


def judge_tails(readers, wanted, written, cluster):
    """Waits until every tail has, or was told of, all lines of its rank; prints; whether it is so."""
    readers.hurry()

    def missing():
        return [(rank, lines, skipped, problem) for rank, lines, skipped, problem in readers.ask()
                if lines + skipped != written[rank]]
    behind = len(missing())
    began = time.monotonic()
    with contextlib.suppress(AssertionError):
        eventually(lambda: not missing(), timeout=400, what="all lines in all tails", pause=0.5)
    caught_up = time.monotonic() - began
    report = readers.ask()
    good = not missing()
    for name, index in (("every line", 0), ("default", 1), ("slow", 2)):
        some = [got for got, (_, slow, parameters) in zip(report, wanted)
                if index == (2 if slow else 0 if parameters else 1)]
        if not some:
            continue
        exact = sum(lines + skipped == written[rank] and not problem
                    for rank, lines, skipped, problem in some)
        skipped = sum(one[2] for one in some)
        good = good and exact == len(some) and (index != 0 or skipped == 0)
        print(f"tails, {name}: {exact} of {len(some)} exact and in order; {sum(o[1] for o in some)} "
              f"lines, {skipped} skipped and told")
    for problem in [one[3] for one in report if one[3]][:3]:
        print(f"tails: {problem}")
    print(f"tails: {behind} were behind at the end, {caught_up:.1f} s later none; aggregator "
          f"{resident_mib(cluster.aggregator):.0f} MiB, at most {most_resident_mib(cluster.aggregator):.0f}")
    return good


def probe(cluster, folder, seconds, times, queries):
    path, end, n = f"{folder}/rank-99.log", time.monotonic() + seconds, 0
    while time.monotonic() < end:
        n += 1
        word = f"probe-{n}-of-us"
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"INFO {word}\n")
        began = time.monotonic()
        while time.monotonic() - began < 30:
            asked = time.monotonic()
            if cluster.get("/jobs/bench/count", rank=99, query=f'|= "{word}"')["count"]:
                times.append(time.monotonic() - began)
                queries.append(time.monotonic() - asked)
                break
            time.sleep(0.004)
        else:
            times.append(float("inf"))
        time.sleep(max(0.0, 0.2 - (time.monotonic() - began)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--tails", type=int, default=0, help="that want every line")
    parser.add_argument("--default-tails", type=int, default=0, help="as a browser opens them")
    parser.add_argument("--slow-tails", type=int, default=0, help="that read 16 KiB/s")
    options = parser.parse_args()
    rate = options.rate or maximum_rate() / 2
    with Cluster() as cluster:
        folder = cluster.path("logs")
        os.mkdir(folder)
        with open(cluster.config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(dir=folder))
        cluster.start_aggregator().start_agent()
        written, stop, times, queries = [0] * RANKS, threading.Event(), [], []
        write_lines(folder, 1000, 1, written, stop)
        eventually(lambda: cluster.get("/jobs/bench/count")["count"] >= 1000 // RANKS * RANKS,
                   what="the first lines")
        wanted = wanted_tails(options.tails, options.default_tails, options.slow_tails)
        readers = TailReaders(cluster.address, "bench", wanted, rb"iteration (\d+)/") if wanted else None
        before, first = histogram(cluster), sum(written)
        writer = threading.Thread(target=write_lines,
                                  args=(folder, rate, options.seconds, written, stop), daemon=True)
        began = time.monotonic()
        writer.start()
        probe(cluster, folder, options.seconds, times, queries)
        writer.join()
        took = time.monotonic() - began
        after = histogram(cluster)
        lines = sum(written)
        print(f"{(lines - first) / took:,.0f} lines/s for {took:.1f} s ({rate:,.0f} asked for), "
              f"{len(wanted)} tails, load {os.getloadavg()[0]:.1f}")
        if len(times) > 1:
            cuts = statistics.quantiles(times, n=100, method="inclusive")
            print(f"probe: {len(times)} lines, p50 {cuts[49] * 1000:.0f} ms, p99 "
                  f"{cuts[98] * 1000:.0f} ms, most {max(times) * 1000:.0f} ms; the query that found it took "
                  f"{statistics.median(queries) * 1000:.0f} ms of that")
        print(f"product: p50 <= {quantile_of(before, after, 0.5) * 1000:.0f} ms, p99 <= "
              f"{quantile_of(before, after, 0.99) * 1000:.0f} ms")
        print(f"CPU-seconds: agent {cpu_seconds(cluster.agent):.2f}, aggregator "
              f"{cpu_seconds(cluster.aggregator):.2f}; resident MiB: agent "
              f"{resident_mib(cluster.agent):.0f}, aggregator {resident_mib(cluster.aggregator):.0f}")
        if readers and not judge_tails(readers, wanted, written, cluster):
            return 1
        return 0


if __name__ == "__main__":
    sys.exit(main())
