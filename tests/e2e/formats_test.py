#!/usr/bin/env python3
"""The line shapes of tests/data/formats.jsonl through the shipped programs: every value that a shape
expects comes out of `logarithm query --files DIR --output json`.

One file per shape, so that each stream finds its own formats. `file:line` is the callsite; `ts` and
its parts are compared with the line's time; body, msg and log with its text; a wrapper's rank with
the line's rank; everything else with `meta`. A shape may also say `time` as the line's own time
begins, severity `ERROR+` (error or fatal) and `event` (there is one). FORMATS=FILE checks another
file of shapes.
"""
import collections
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
from datetime import datetime, timezone

from harness import BIN, ROOT, Cluster, cli_files

SHAPES = os.environ.get("FORMATS", os.path.join(ROOT, "tests/data/formats.jsonl"))
LEVELS = {"V": "debug", "D": "debug", "I": "info", "W": "warning", "E": "error", "F": "fatal",
          "C": "fatal", "CRITICAL": "fatal", "SUCCESS": "info", "WARN": "warning", "ERR": "error"}
TEXT = {"body", "msg", "log", "dict"}
MONTHS = {name: number for number, name in enumerate(
    "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(), 1)}
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def shapes():
    with open(SHAPES, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def same(found, expected):
    """Numbers by value, everything else as text."""
    if found is None or isinstance(found, (dict, list)):
        return False
    if str(found) == str(expected):
        return True
    try:
        a, b = float(str(found).replace(",", "")), float(str(expected).replace(",", ""))
    except ValueError:
        return False
    return a == b or (math.isnan(a) and math.isnan(b))


def metric_name(key):
    return re.sub(r"[^a-z0-9]+", "_", key.lower()).strip("_")


def in_meta(line, key, expected):
    """Under the key itself or its normal form (`lm loss` is lm_loss); iteration is a column."""
    names = [key, metric_name(key)]
    if key in ("step", "iteration", "current_steps") and same(line.get("iteration"), expected):
        return True
    return any(same(line.get("meta", {}).get(name), expected) for name in names)


def clock_parts(text):
    """The fields that a printed time states, as a dict; None: not understood."""
    text = text.strip()
    found = {}
    for month, number in MONTHS.items():
        text = re.sub(rf"\b{month}\b", f"{number:02}", text)
    whole = re.match(r"(?:(\d{4})[-/](\d\d)[-/](\d\d)|(\d\d)[-/ ]+(\d+)(?: (\d{4}))?)[T _]+(\d\d):(\d\d):(\d\d)"
                     r"(?:[.,](\d+))?(Z|[+-]\d\d:?\d\d)?$", text)
    if not whole:
        return None
    g = whole.groups()
    if g[0] or g[5]:
        found["year"] = int(g[0] or g[5])
    found["month"], found["day"] = int(g[1] or g[3]), int(g[2] or g[4])
    found["hour"], found["minute"], found["second"] = int(g[6]), int(g[7]), int(g[8])
    found["nanos"] = int((g[9] or "0").ljust(9, "0"))
    found["offset"] = g[10]
    return found


def time_fits(line, text):
    wanted = clock_parts(text)
    if wanted is None:
        return False
    time = line["time"]
    got = datetime.strptime(time[:19], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc)
    if wanted["offset"] not in (None, "Z"):
        sign = -1 if wanted["offset"][0] == "-" else 1
        digits = wanted["offset"][1:].replace(":", "")
        shift = sign * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)
        got = datetime.fromtimestamp(got.timestamp() + shift, timezone.utc)
    return (int(time[20:29]) == wanted["nanos"] and "derived_time" not in line.get("flags", []) and
            all(getattr(got, part) == wanted[part]
                for part in ("year", "month", "day", "hour", "minute", "second") if part in wanted))


def iso_fits(line, wanted):
    """`wanted` is how the line's time begins; `?` is a digit that the text does not state."""
    found = line["time"][:len(wanted)]
    return (len(found) == len(wanted) and "derived_time" not in line.get("flags", []) and
            all(b in ("?", a) for a, b in zip(found, wanted)))


def mistakes(shape, line, expect):
    """What `line` lacks of `expect` (None: the optional group took no part)."""
    wrong = []
    expect = {key: value for key, value in expect.items() if value is not None}
    place = expect.get("file") or expect.get("module")
    for key, wanted in expect.items():
        meta, text = line.get("meta", {}), line.get("text", "")
        if key in TEXT:
            plain = ESCAPE.sub("", wanted)
            plain = json.loads(f'"{plain}"').rstrip("\n") if key == "log" else plain
            good = plain in text
        elif key == "severity" and wanted == "ERROR+":  # no level is printed: an error or worse
            good = line.get("severity") in ("error", "fatal")
        elif key == "severity":
            good = line.get("severity") == LEVELS.get(wanted.upper(), wanted.lower())
        elif key == "rank" and shape["group"] == "wrapper":
            good = same(line.get("rank"), wanted)
        elif key == "ts":
            good = time_fits(line, wanted)
        elif key in ("year", "month", "day", "time") and {"month", "day", "time"} <= set(expect):
            year = expect.get("year", line["time"][:4])
            good = time_fits(line, f"{year}-{int(expect['month']):02}-{expect['day']} {expect['time']}")
        elif key == "time" and "T" in wanted:
            good = iso_fits(line, wanted)
        elif key == "event":
            good = bool(line.get("events"))
        elif key in ("file", "line") and {"file", "line"} <= set(expect) or (
                key == "line" and "module" in expect):
            good = line.get("callsite") == f"{place}:{expect['line']}"
            good = good or key == "line" and str(line.get("callsite", "")).endswith(f":{wanted}")
        elif key == "stream":
            good = line.get("stream") == wanted or same(meta.get(key), wanted)
        elif key == "host":
            good = line.get("host") == wanted or same(meta.get(key), wanted)
        else:
            good = in_meta(line, key, wanted)
        if not good:
            wrong.append((key, wanted))
    return wrong


def texts_with_events(path):
    """The texts on which rules marked an event: only the agent's test-rules shows those of a file."""
    with open(path, "rb") as text:
        done = subprocess.run([os.path.join(BIN, "logarithm-agent"), "test-rules"], stdin=text, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=300)
    lines = [json.loads(line) for line in done.stdout.decode().split("\n") if line.startswith("{")]
    return {line["text"] for line in lines if line.get("events")}


def lines_of(shape, directory, lines):
    """What the product says of `lines`: one list of answers per given line."""
    os.makedirs(directory)
    path = os.path.join(directory, "f.log")
    # The last piece is what a `\r` left on the terminal; every piece is a line of its own to us.
    text = "".join(line + "\n" for line in lines)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    ranges, at = [], 0
    for line in lines:
        size = len((line + "\n").encode())
        ranges.append((at, at + size))
        at += size
    page = json.loads(cli_files("query", "--files", directory, "--tz", "UTC", "--output", "json",
                                "--limit", "1000", "--direction", "forward"))
    answers = [[] for _ in lines]
    asked = any("event" in expect for expect in [shape["expect"], *shape.get("expect_more", [])])
    events = texts_with_events(path) if asked else ()
    for line in page["lines"]:
        line["events"] = line["text"] in events
        offset = int(line["id"].rsplit(":", 1)[1])
        for number, (begin, end) in enumerate(ranges):
            if begin <= offset < end:
                answers[number].append(line)
    return answers


def check(shape, directory):
    """The values of one shape: (number of values, what is wrong)."""
    answers = lines_of(shape, directory, shape["lines"])
    expects = [shape["expect"], *shape.get("expect_more", [])]
    total, wrong = 0, []
    for number, answer in enumerate(answers):
        expect = dict(expects[number]) if number < len(expects) else {}
        expect.update({key: value for key, value in shape.get("derive", {}).items()})
        pairs = shape.get("iter_expect", [])
        iterated = pairs[number] if number < len(pairs) else {}
        values = {**{key: value for key, value in expect.items() if value is not None}}
        total += len(values) + len(iterated)
        best = None
        for line in answer:  # a record's values are on one of its lines
            bad = mistakes(shape, line, expect) + [(key, value) for key, value in iterated.items()
                                                   if not in_meta(line, key, value)]
            if best is None or len(bad) < len(best[0]):
                best = (bad, line)
        if best is None:
            best = (list(values.items()) + list(iterated.items()), None)
        if len(answer) > 1 and best[0]:  # …or spread over several of them
            left = [item for item in best[0]
                    if not any(item not in mistakes(shape, line, dict([item])) and
                               (item[0] in expect or in_meta(line, *item)) for line in answer)]
            best = (left, best[1])
        wrong += [(shape["lines"][number][:160], key, value, best[1]) for key, value in best[0]]
    return total, wrong


def check_path(shape, directory):
    """A shape of group `path`: a file at that path is imported; its values are in `streams`."""
    total, wrong = 0, []
    with Cluster() as cluster:
        cluster.start_aggregator()
        for number, (path, expect) in enumerate(
                zip(shape["lines"], [shape["expect"], *shape.get("expect_more", [])])):
            top = os.path.join(directory, str(number))
            os.makedirs(os.path.dirname(top + path))
            with open(top + path, "w", encoding="utf-8") as file:
                file.write("2026-03-04 05:06:07,448 - trainer - INFO - ready\n")
            job = f"job{number}"
            cluster.cli("import", "--job", job, top)
            streams = cluster.get(f"/jobs/{job}/streams")["streams"]
            facts = json.loads(json.dumps(streams[0])) if len(streams) == 1 else {}
            for key, wanted in expect.items():
                if wanted is None:
                    continue
                total += 1
                name = {"rank_a": "rank", "rank_b": "rank"}.get(key, key)
                if name == "stream":
                    wanted = {"out": "stdout", "err": "stderr"}.get(wanted, wanted)
                if not any(same(value, wanted) for value in found(facts, name)):
                    wrong.append((path, key, wanted, facts))
    return total, wrong


def found(facts, name):
    """Every value under `name` at any depth."""
    if isinstance(facts, dict):
        for key, value in facts.items():
            if key == name:
                yield value
            yield from found(value, name)
    elif isinstance(facts, list):
        for value in facts:
            yield from found(value, name)


class Formats(unittest.TestCase):
    def test_every_expected_value_comes_out(self):
        total, wrong = 0, []
        by_group = collections.Counter()
        with tempfile.TemporaryDirectory(prefix="lgr-formats-") as top:
            for number, shape in enumerate(shapes()):
                run = check_path if shape["group"] == "path" else check
                count, bad = run(shape, os.path.join(top, f"s{number:03}"))
                total += count
                wrong += [(shape, *item) for item in bad]
                by_group[shape["group"]] += len(bad)
        for shape, text, key, wanted, line in wrong:
            print(f"{shape['group']} {shape['id']}: {key} should be {wanted!r}\n    of {text!r}\n"
                  f"    got {json.dumps({k: v for k, v in (line or {}).items() if k not in ('id', 'observed', 'template', 'head', 'job')})[:700]}")
        print(f"{total - len(wrong)} of {total} values; wrong by group: {dict(by_group)}")
        self.assertGreater(total, 0)
        self.assertEqual(len(wrong), 0, f"{len(wrong)} of {total} values are wrong")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
