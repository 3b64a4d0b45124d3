#!/usr/bin/env python3
"""Ordinary text is not taken for logs: of LGR_LINES lines of documentation, source code, JSON, CSV
and other languages found on this machine, at most 1 in 10,000 gets a rank, an iteration, a severity
of error or an event that nobody wrote.
"""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

from harness import BIN, seed

LINES = int(os.environ.get("LGR_LINES", "150000"))
# Kinds of text by place and ending; each gives an equal share. Made-up tables stand for CSV, which
# Debian hardly ships.
KINDS = {
    "documentation": ("/usr/share/doc", (".txt", ".md", ".rst", "README", "NEWS", "changelog", "copyright")),
    "headers": ("/usr/include", (".h", ".hpp", "")),
    "python": ("/usr/lib/python3", (".py",)),
    "python3.11": ("/usr/lib/python3.11", (".py", ".txt")),
    "json": ("/usr", (".json", ".js", ".map")),
    "scripts": ("/usr/share", (".pl", ".pm", ".sh", ".cmake", ".m4", ".xml", ".html")),
    "languages": ("/usr/share/i18n", ("",)),
}


def files_below(top, endings, random_):
    found = []
    for folder, _, names in os.walk(top):
        for name in names:
            if name.endswith(endings) and not name.endswith((".gz", ".so", ".a", ".pyc", ".o")):
                found.append(os.path.join(folder, name))
    random_.shuffle(found)
    return found


def text_lines(path, limit):
    """The file's lines, or none where it is no text."""
    try:
        if os.path.islink(path) or os.path.getsize(path) > 4 << 20:
            return []
        with open(path, encoding="utf-8") as file:
            return [line.rstrip("\n") for line in file.read().split("\n") if len(line) < 4000][:limit]
    except (OSError, UnicodeDecodeError):
        return []


def table(rows, random_):
    yield "id,name,value,date,share,note"
    for row in range(rows):
        yield (f"{row},{random_.choice('north south east west'.split())}-{random_.randrange(99)},"
               f"{random_.gauss(50, 20):.3f},2026-{random_.randrange(1, 13):02}-{random_.randrange(1, 29):02},"
               f"{random_.random():.4f},{random_.choice(['ok', 'late', 'n/a', ''])}")


class FalseFriends(unittest.TestCase):
    def events_of(self, text):
        """The lines on which rules marked an event: only the agent's test-rules shows those."""
        done = subprocess.run([os.path.join(BIN, "logarithm-agent"), "test-rules"], stdin=text,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=1800)
        self.assertEqual(done.returncode, 0)
        lines = (json.loads(line) for line in done.stdout.decode("utf-8", "replace").split("\n")
                 if line.startswith("{"))
        return [line for line in lines if line.get("events")]

    def test_ordinary_text_invents_nothing(self):
        random_ = seed()
        share = LINES // (len(KINDS) + 1)
        sizes = collections.Counter()
        with tempfile.TemporaryDirectory(prefix="lgr-friends-") as top:
            for kind, (place, endings) in KINDS.items():
                for number, path in enumerate(files_below(place, endings, random_)):
                    lines = text_lines(path, share - sizes[kind])
                    if not lines:
                        continue
                    sizes[kind] += len(lines)
                    with open(os.path.join(top, f"{kind}-{chr(97 + number % 26)}.txt"), "a", encoding="utf-8") as out:
                        out.write("\n".join(lines) + "\n")
                    if sizes[kind] >= share:
                        break
            with open(os.path.join(top, "table.csv"), "w", encoding="utf-8") as out:
                out.write("\n".join(table(share, random_)) + "\n")
            export = subprocess.Popen([os.path.join(BIN, "logarithm"), "export", "--files", top,
                                       "--output", "ndjson"], stdout=subprocess.PIPE, text=True)
            total, invented, examples = 0, collections.Counter(), collections.defaultdict(list)
            for text in export.stdout:
                line = json.loads(text)
                if "id" not in line:
                    continue
                total += 1
                for what, there in (("rank", "rank" in line), ("iteration", "iteration" in line),
                                    ("severity", line.get("severity") in ("error", "fatal"))):
                    if there and "derived_iteration" not in line["flags"] and "derived_fields" not in line["flags"]:
                        invented[what] += 1
                        if len(examples[what]) < 12:
                            examples[what].append((line["stream"], line["text"][:150]))
            export.wait()
            for path in sorted(os.listdir(top)):
                with open(os.path.join(top, path), "rb") as text:
                    for line in self.events_of(text):
                        invented["event"] += 1
                        if len(examples["event"]) < 40:
                            examples["event"].append((path, f"{line['events']} {line['text'][:150]}"))
        print(f"{total} lines of {dict(sizes)}; invented: {dict(invented)}")
        for what, lines in examples.items():
            for stream, text in lines:
                print(f"  {what}: {stream}: {text!r}")
        self.assertGreater(total, LINES // 2)
        for what, count in invented.items():
            self.assertLessEqual(count, total / 10000, f"{what}: {count} of {total} lines")


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
