#!/usr/bin/env python3
"""Builds and runs the tests; prints every failure and ends with `N passed, N failed`.

    run.py              lint, unit tests (dev), end-to-end tests (release): what ./test runs
    run.py --ci         the same, then everything built by clang with ASan+UBSan, the unit tests
                        under it, and the fuzz targets
    run.py --fuzz       builds the fuzz targets and runs each for 30 s, nothing else
    run.py --deep       what takes too long for CI: the unit tests under TSan, clang-tidy on every
                        source file (needs clang-tidy-16)
"""
import glob
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
UNITS = ["common", "agent", "aggregator", "cli"]
FUZZ_SECONDS = 30
passed, failed = 0, []


def note(name, good, took, output=""):
    global passed
    if good:
        passed += 1
    else:
        failed.append(name)
        print(output[-6000:])
    print(f"{'ok  ' if good else 'FAIL'} {name} ({took:.1f} s)", flush=True)


def run(name, command, env=None, timeout=1200):
    """One command as one test."""
    began = time.monotonic()
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=timeout,
                              env=dict(os.environ, **(env or {})))
        good, output = done.returncode == 0, done.stdout
    except subprocess.TimeoutExpired as problem:
        good, output = False, f"{problem}\n{problem.stdout or ''}"
    note(name, good, time.monotonic() - began, output)
    return good, output


def build(preset, *targets):
    good, _ = run(f"configure {preset}", ["cmake", "--preset", preset])
    command = ["cmake", "--build", "--preset", preset]
    if targets:
        command += ["--target", *targets]
    return good and run(f"build {preset}", command, timeout=3600)[0]


def doctests(preset, env=None):
    """Every doctest case counts as a test of its own."""
    global passed
    for unit in UNITS:
        program = f"build/{preset}/bin/{unit}_tests"
        if not os.path.exists(os.path.join(ROOT, program)):
            failed.append(program)
            print(f"FAIL {program} was not built")
            continue
        good, output = run(f"{preset} {unit}_tests", [program], env)
        totals = re.search(r"test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed", output)
        if not totals or int(totals.group(1)) == 0:
            failed.append(f"{program}: ran no test")
        else:
            passed += int(totals.group(2)) - 1  # the program itself was counted by run()
            if good:
                continue
            failed.extend([f"{program}: a case"] * (int(totals.group(3)) - 1))


def compile_tests(preset):
    run(f"{preset} compile tests", ["ctest", "--test-dir", f"build/{preset}", "-R", "^compile",
                                    "--no-tests=error", "--output-on-failure"])


def end_to_end():
    tests = glob.glob(os.path.join(ROOT, "tests/e2e/*_test.py")) + glob.glob(os.path.join(ROOT, "tests/spmd/*_test.py"))
    for path in sorted(tests):
        name = os.path.relpath(path, ROOT)
        run(name, [sys.executable, path], {"LGR_BIN": os.path.join(ROOT, "build/release/bin")})


def fuzz():
    if not build("fuzz", "fuzz"):
        return
    for program in sorted(glob.glob(os.path.join(ROOT, "build/fuzz/bin/*_fuzz"))):
        name = os.path.basename(program)
        corpus = os.path.join(ROOT, "build/fuzz/corpus", name)
        os.makedirs(corpus, exist_ok=True)
        seeds = os.path.join(ROOT, "tests/fuzz/corpus", name.removesuffix("_fuzz"))
        run(name, [program, f"-max_total_time={FUZZ_SECONDS}", "-rss_limit_mb=2048", "-timeout=10",
                   "-print_final_stats=1", f"-artifact_prefix={corpus}.", corpus] + ([seeds] if os.path.isdir(seeds) else []))


def deep():
    if build("tsan"):
        suppressions = os.path.join(ROOT, "tests/tsan.supp")
        doctests("tsan", {"TSAN_OPTIONS": f"halt_on_error=0 exitcode=66 suppressions={suppressions}"})
    if run("configure dev", ["cmake", "--preset", "dev"])[0]:
        run("clang-tidy", ["run-clang-tidy-16", "-quiet", "-p", "build/dev",
                           f"^{ROOT}/(agent|aggregator|cli|common)/.*"], timeout=4 * 3600)


def everything():
    run("lint", [sys.executable, "tests/lint.py"])
    if build("dev"):
        doctests("dev")
        compile_tests("dev")
    if build("release", "logarithm-agent", "logarithm-aggregator", "logarithm"):
        end_to_end()
    if "--ci" in sys.argv[1:]:
        if build("asan"):
            doctests("asan", {"ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "print_stacktrace=1"})
        fuzz()


def main():
    if "--fuzz" in sys.argv[1:]:
        fuzz()
    elif "--deep" in sys.argv[1:]:
        deep()
    else:
        everything()
    for name in failed:
        print("failed:", name)
    print(f"{passed} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
