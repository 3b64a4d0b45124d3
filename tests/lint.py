#!/usr/bin/env python3
"""House rules that a compiler does not check. Run from anywhere; exit 1 and a list when broken.

Arrows, banned constructs, unlisted tests, file sizes, format. Each rule says why beside it.
"""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
problems, warnings_ = [], []


def tracked():
    out = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [f for f in out.stdout.splitlines() if os.path.exists(os.path.join(ROOT, f))]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


FILES = tracked()
CODE = [f for f in FILES if f.endswith((".h", ".cpp")) and not f.startswith("tests/tools/")]
PRODUCT = [f for f in CODE if not f.startswith("tests/")]

# Dependencies point one way: a folder may include itself and these.
ARROWS = {"common": {"common"}, "agent": {"agent", "common"}, "aggregator": {"aggregator", "common"},
          "cli": {"cli", "common"}}
# Heavy or leaky headers and the only places that may include them.
ONLY_IN = [
    (r"<boost/beast", r"^common/net/[a-z_]+\.cpp$", "Beast costs a minute a file"),
    (r"<sqlite3\.h>", r"^aggregator/store/sqlite\.cpp$", "SQL stays behind Database"),
    (r"<re2/", r"^common/regex/[a-z0-9_]+\.cpp$", "RE2 stays behind Regex"),
    (r"<yaml-cpp", r"^common/(config|rules)/[a-z_]+\.cpp$", "YAML stays in the readers"),
    (r"<spdlog", r"^common/base/logging\.(h|cpp)$", "one face for our log"),
    (r"<zstd\.h>", r"^common/block/[a-z_]+\.cpp$", "compression belongs to the block"),
    (r"<nlohmann/json\.hpp>", r"\.cpp$|_json\.h$", "slow to compile: json_fwd in headers"),
]
BANNED = [
    (r"\bdetached\b", "a coroutine without an owner cannot be stopped"),
    (r"co_spawn\([^;]*\[&", "a capturing lambda coroutine dies with its frame"),
    (r"co_await[^;(]*\([^;]*[({,]\s*\{", "g++ 12.2 destroys a braced temporary twice (T4)"),
    (r"co_await\s+\[", "g++ 12.2 destroys a capturing lambda twice (T4)"),
    (r"co_await[^;{}]*\?[^;{}:]*:", "g++ 12.2 frees a conditional temporary in co_await twice (T4)"),
    (r"this_thread::sleep", "nobody can stop a sleeping thread"),
    (r"catch \(\.\.\.\)\s*\{\s*\}", "an error swallowed"),
    (r"awaitable<[^;{]*>\s+\w+\([^)]*BlockingToken", "a coroutine must not block"),
]


def check_arrows():
    for path in PRODUCT:
        top = path.split("/")[0]
        if top not in ARROWS:
            problems.append(f"{path}: code outside of {sorted(ARROWS)}")
            continue
        for include in re.findall(r'#include "([^"]+)"', read(path)):
            if include.split("/")[0] not in ARROWS[top]:
                problems.append(f"{path}: {top} may not include {include}")
        for pattern, where, why in ONLY_IN:
            if re.search(r"#include\s+" + pattern, read(path)) and not re.search(where, path):
                problems.append(f"{path}: includes {pattern} ({why})")


def check_banned():
    for path in PRODUCT:
        text = re.sub(r"//[^\n]*", "", read(path))
        for pattern, why in BANNED:
            for hit in re.finditer(pattern, text):
                line = text.count("\n", 0, hit.start()) + 1
                problems.append(f"{path}:{line}: {hit.group(0)[:50]!r}: {why}")
        if not re.search(r"^common/base/(clock\.cpp|logging\.h)$", path):
            for hit in re.finditer(r"(steady|system)_clock::now\(", text):
                line = text.count("\n", 0, hit.start()) + 1
                problems.append(f"{path}:{line}: time comes from Clock")


def check_tests_listed():
    lists = "\n".join(read(f) for f in FILES if f.endswith("CMakeLists.txt"))
    for path in CODE:
        name = os.path.basename(path)
        if name.endswith("_test.cpp"):
            listed = name in lists
        elif name.endswith("_fuzz.cpp"):
            listed = re.search(rf"lgr_fuzz\({name[:-len('_fuzz.cpp')]}\b", lists)
        else:
            continue
        if not listed:
            problems.append(f"{path}: in no CMakeLists.txt, so it never runs")


def check_sizes():
    for path in CODE:
        lines = read(path).count("\n")
        limit = 900 if path.startswith("tests/") else 600
        if lines > limit:
            problems.append(f"{path}: {lines} lines (at most {limit})")
        elif lines > 400 and not path.startswith("tests/"):
            warnings_.append(f"{path}: {lines} lines: is this one idea?")


def check_format():
    tool = shutil.which("clang-format-14")
    if not tool:
        warnings_.append("clang-format-14 is not installed: format not checked")
        return
    run = subprocess.run([tool, "--dry-run", "-Werror"] + CODE, cwd=ROOT, capture_output=True,
                         text=True)
    for line in run.stderr.splitlines():
        if "error:" in line:
            problems.append(line)


for check in (check_arrows, check_banned, check_tests_listed, check_sizes, check_format):
    check()
for text in warnings_:
    print("note:", text)
for text in problems:
    print(text)
print(f"lint: {len(CODE)} files, {len(problems)} problems")
sys.exit(1 if problems else 0)
