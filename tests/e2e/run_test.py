#!/usr/bin/env python3
"""`logarithm run`: the same output and status as without it, and the agent has every byte."""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import BIN, Cluster, eventually

LOGARITHM = os.path.join(BIN, "logarithm")
PYTHON = sys.executable

# Programs of every kind, each as argv. What depends on a pid or a time is not among them.
PROGRAMS = {
    "true": ["true"],
    "false": ["false"],
    "status 77": ["sh", "-c", "exit 77"],
    "no newline": ["printf", "no newline"],
    "bytes": [PYTHON, "-c", "import sys; sys.stdout.buffer.write(bytes(range(256)) * 300)"],
    "stderr": ["sh", "-c", "echo out; echo err >&2; exit 3"],
    "colours": ["printf", r"\033[31mred\033[0m\n"],
    "bar": [PYTHON, "-c", "import sys\nfor i in range(101):\n"
            "  sys.stderr.write(f'\\r{i:3}%|{chr(9608) * (i // 10):10}|')\nsys.stderr.write('\\n')"],
    "huge line": [PYTHON, "-c", "print('x' * 5_000_000)"],
    "many lines": [PYTHON, "-c", "for i in range(200000): print('line', i)"],
    "both, interleaved": [PYTHON, "-c", "import os\nfor i in range(2000):\n"
                          "  os.write(1, b'o%d\\n' % i); os.write(2, b'e%d\\n' % i)"],
    "stdin": ["cat"],
    "killed": ["sh", "-c", "echo dying; kill -9 $$"],
    "aborted": ["sh", "-c", "kill -ABRT $$"],
    "terminated": ["sh", "-c", "kill -TERM $$"],
    "traceback": [PYTHON, "-c", "raise RuntimeError('boom')"],
    "not found": ["/no/such/program"],
    "arguments": [PYTHON, "-c", "import sys; print(sys.argv[1:])", "a b", "", "--flag", "--", "*"],
    "environment": ["sh", "-c", "echo $LOGARITHM_RUN_FILES; env | grep -c '^PATH='"],
    "background child": ["sh", "-c", "(sleep 1; echo late; echo bad >&2) & echo now; exit 4"],
    "cwd and umask": ["sh", "-c", "pwd; umask"],
    "ignored signals": ["sh", "-c", "grep SigIgn /proc/self/status"],
    "closed stdin": ["sh", "-c", "read x; echo \"status $?\""],
}


def plain_status(code):
    """As a shell shows it."""
    return 128 - code if code < 0 else code


class Run(unittest.TestCase):
    def setUp(self):
        self.state = tempfile.mkdtemp(prefix="lgr-run-")
        self.addCleanup(shutil.rmtree, self.state, ignore_errors=True)
        self.environment = dict(os.environ, XDG_STATE_HOME=self.state)
        for name in list(self.environment):
            if name.startswith("LOGARITHM_"):
                del self.environment[name]

    def with_run(self, *arguments):
        return [LOGARITHM, "run", *arguments, "--"]

    def execute(self, command, merged=False, prefix=()):
        done = subprocess.run([*prefix, *command], input=b"some input\nmore\n", timeout=60,
                              stdout=subprocess.PIPE, env=self.environment,
                              stderr=subprocess.STDOUT if merged else subprocess.PIPE)
        return plain_status(done.returncode), done.stdout, done.stderr

    def test_output_and_status_are_the_same(self):
        for name, command in PROGRAMS.items():
            for merged in (False, True):
                with self.subTest(name, merged=merged):
                    expected = self.execute(command, merged)  if name != "not found" else None
                    got = self.execute(command, merged, self.with_run("--job", "same"))
                    if expected is None:
                        self.assertEqual(got[0], 127)
                    else:
                        self.assertEqual(got, expected)
        print(f"{len(PROGRAMS)} programs", flush=True)

    def test_a_reader_that_leaves_ends_the_command(self):
        done = subprocess.run(["sh", "-c", f"{LOGARITHM} run --job pipe -- yes | head -1"],
                              stdout=subprocess.PIPE, timeout=20, env=self.environment)
        self.assertEqual(done.stdout, b"y\n")

    def test_signals_are_passed_on(self):
        self.pass_signals_on()

    def test_signals_that_were_ignored_reach_a_command_that_handles_them(self):
        # As behind a shell's & or nohup.
        def ignore():
            for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
                signal.signal(number, signal.SIG_IGN)
        self.pass_signals_on(ignore)

    def pass_signals_on(self, before=None):
        program = ("import signal, sys, time\n"
                   "def got(n, f):\n  print(signal.Signals(n).name, flush=True)\n"
                   "  if n == signal.SIGTERM: sys.exit(9)\n"
                   "for n in (1, 2, 3, 10, 12, 15, 28, 18, 20): signal.signal(n, got)\n"
                   "print('ready', flush=True)\nwhile True: time.sleep(0.05)\n")
        run = subprocess.Popen([*self.with_run("--job", "signals"), PYTHON, "-c", program],
                               stdout=subprocess.PIPE, env=self.environment,
                               preexec_fn=before)
        self.addCleanup(run.kill)
        self.assertEqual(run.stdout.readline(), b"ready\n")
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
                       signal.SIGUSR2, signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT):
            run.send_signal(number)
            self.assertEqual(run.stdout.readline().strip().decode(), number.name)
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.stdout.readline(), b"SIGTERM\n")
        self.assertEqual(run.wait(10), 9)

    def test_a_terminal_shows_what_it_showed(self):
        command = [PYTHON, "-c", "import os, sys\nprint('\\033[32mgreen\\033[0m')\n"
                   "sys.stdout.flush()\nsys.stderr.write('\\r50%')\nsys.stderr.flush()\n"
                   "print(os.environ.get('FORCE_COLOR'), os.environ.get('COLUMNS'))"]

        def on_terminal(arguments):
            pid, master = pty.fork()
            if pid == 0:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
                os.execve(arguments[0], arguments, dict(self.environment, TERM="xterm"))
            shown = b""
            while True:
                try:
                    data = os.read(master, 65536)
                except OSError:
                    break
                if not data:
                    break
                shown += data
            os.close(master)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown

        status, shown = on_terminal([*self.with_run("--job", "tty"), *command])
        self.assertEqual((status, shown), (0, b"\x1b[32mgreen\x1b[0m\r\n\r50%1 80\r\n"))
        status, shown = on_terminal([*self.with_run("--job", "tty", "--plain"), *command])
        self.assertIn(b"None None", shown)

    def test_ctrl_c_reaches_the_command_once(self):
        program = ("import signal, sys, time\nn = 0\n"
                   "def got(*_):\n  global n\n  n += 1\n  print('int', n, flush=True)\n"
                   "signal.signal(signal.SIGINT, got)\nprint('ready', flush=True)\n"
                   "end = time.time() + 1.0\nwhile time.time() < end: time.sleep(0.05)\n"
                   "print('total', n)\n")
        pid, master = pty.fork()
        if pid == 0:
            arguments = [*self.with_run("--job", "ctrl-c"), PYTHON, "-c", program]
            os.execve(arguments[0], arguments, self.environment)
        shown = b""
        sent = False
        while True:
            try:
                ready, _, _ = select.select([master], [], [], 10)
                data = os.read(master, 65536) if ready else b""
            except OSError:
                break
            if not data:
                break
            shown += data
            if b"ready" in shown and not sent:
                os.write(master, b"\x03")
                sent = True
        os.close(master)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertIn(b"total 1", shown)

    def test_a_command_that_the_terminal_stops_is_a_stopped_job(self):
        run = subprocess.Popen([*self.with_run("--job", "ctrl-z"), "sh", "-c",
                                "echo ready; sleep 0.2; echo on; sleep 0.2; exit 3"],
                               stdout=subprocess.PIPE, env=self.environment, process_group=0)
        self.addCleanup(run.kill)
        self.assertEqual(run.stdout.readline(), b"ready\n")
        os.killpg(run.pid, signal.SIGTSTP)  # as Ctrl-Z does
        _, status = os.waitpid(run.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        os.killpg(run.pid, signal.SIGCONT)  # as `fg` does
        self.assertEqual(run.stdout.read(), b"on\n")
        self.assertEqual(run.wait(10), 3)

    def test_case_53_the_command_runs_on_while_we_are_stopped(self):
        marker = os.path.join(self.state, "done")
        program = f"for i in range(200000): print('line', i)\nopen({marker!r}, 'w').close()"
        run = subprocess.Popen([*self.with_run("--job", "stopped"), PYTHON, "-c",
                                "import time; time.sleep(0.5)\n" + program],
                               stdout=subprocess.PIPE, env=self.environment)
        time.sleep(0.25)
        run.send_signal(signal.SIGSTOP)
        eventually(lambda: os.path.exists(marker), what="the command's end")
        run.send_signal(signal.SIGCONT)
        output, _ = run.communicate(timeout=30)
        self.assertEqual(output.count(b"\n"), 200000)

    def test_children_in_the_background_do_not_hold_us(self):
        began = time.monotonic()
        run = subprocess.Popen([*self.with_run("--job", "background"), "sh", "-c",
                                "(sleep 3; echo late) & echo now"], stdout=subprocess.PIPE,
                               env=self.environment)
        self.assertEqual(run.wait(10), 0)
        self.assertLess(time.monotonic() - began, 2.5)
        self.assertEqual(run.stdout.read(), b"now\nlate\n")  # to its end: when the child has left

    def test_identity_of_children(self):
        show = ["sh", "-c", "echo $LOGARITHM_JOB/$LOGARITHM_ATTEMPT"]
        run = lambda *more: self.execute(show, prefix=self.with_run(*more))[1].decode().strip()
        self.assertEqual(run("--job", "mine"), "mine/0")
        self.assertEqual(run("--job", "mine"), "mine/1")
        self.assertEqual(run("--job", "mine", "--attempt", "7"), "mine/7")
        self.assertRegex(run(), r"^sh-\d+-\d+/0$")
        self.environment["SLURM_PROCID"] = "3"
        self.environment["SLURM_JOB_ID"] = "42"
        self.assertEqual(run(), "42/")

    def test_without_a_place_the_command_runs_all_the_same(self):
        done = self.execute(["sh", "-c", "echo fine; exit 5"],
                            prefix=self.with_run("--dir", "/proc/nowhere"))
        self.assertEqual(done[:2], (5, b"fine\n"))
        self.assertIn(b"not kept", done[2])

    def agent(self, own_runs):
        with open(self.cluster.config, "w", encoding="utf-8") as file:
            file.write(f"discover:\n  runs: {'true' if own_runs else 'false'}\n")
        self.cluster.state_home = self.state
        self.cluster.start_agent()

    def texts(self, job):
        lines = self.cluster.get(f"/jobs/{job}/lines", limit=10000, direction="forward")["lines"]
        return [(line["stream"], line["text"]) for line in lines]

    def test_the_file_that_a_run_is_sent_to_is_not_the_jobs(self):
        # As in a batch script whose output is one file: what others write there is not the run's.
        with Cluster() as self.cluster:
            self.cluster.start_aggregator()
            self.agent(own_runs=False)
            eventually(lambda: self.cluster.get("/status")["agents"], what="agent")
            for turn in range(12):
                with open(self.cluster.path(f"slurm-{turn}.out"), "ab") as out:
                    out.write(b"before\n")
                    out.flush()
                    subprocess.run([*self.with_run("--job", f"sent{turn}"), "echo", "once"], check=True,
                                   stdout=out, stderr=out, env=self.environment, timeout=60)
                    out.write(b"after\n")
                with open(out.name, "rb") as shown:
                    self.assertEqual(shown.read(), b"before\nonce\nafter\n")
            for turn in range(12):
                eventually(lambda t=turn: self.texts(f"sent{t}"), what=f"run {turn}")
            self.assertEqual([self.texts(f"sent{turn}") for turn in range(12)],
                             [[("stdout", "once")]] * 12)

    def test_an_agent_has_what_was_shown(self):
        # By its processes alone, as an agent of another user finds it: a command that is over at
        # once, a shell that runs nothing, and one whose line comes while it runs.
        with Cluster() as self.cluster:
            self.cluster.start_aggregator()
            self.agent(own_runs=False)
            eventually(lambda: self.cluster.get("/status")["agents"], what="agent")
            short = self.execute(["echo", "short"], prefix=self.with_run("--job", "short"))
            self.assertEqual(short, (0, b"short\n", b""))
            shell = self.execute(["bash", "-c", "echo first; end=$((SECONDS+3)); "
                                  "while [ $SECONDS -lt $end ]; do :; done; echo last"],
                                 prefix=self.with_run("--job", "shell"))
            self.assertEqual(shell, (0, b"first\nlast\n", b""))
            both = self.execute(["sh", "-c", "echo out; echo err >&2; sleep 0.3"],
                                prefix=self.with_run("--job", "team/both"))
            self.assertEqual(both, (0, b"out\n", b"err\n"))
            eventually(lambda: self.texts("short") == [("stdout", "short")], what="short")
            eventually(lambda: len(self.texts("shell")) == 2, what="shell")
            eventually(lambda: sorted(self.texts("team/both")) == [("stderr", "err"),
                                                                   ("stdout", "out")], what="both")
            job = self.cluster.get("/jobs/short")["jobs"][0]
            self.assertEqual(job["attempts"], [0])

    def test_case_53_the_command_runs_on_while_the_agent_is_stopped(self):
        lines = 400_000  # some 20 MB: no pipe and no buffer of ours holds that
        program = f"for i in range({lines}): print('iteration', i, 'of a run that nobody follows now')"
        with Cluster() as self.cluster:
            self.cluster.start_aggregator()
            self.agent(own_runs=True)
            eventually(lambda: self.cluster.get("/status")["agents"], what="agent")
            self.cluster.agent.child.send_signal(signal.SIGSTOP)
            try:
                done = self.execute([PYTHON, "-c", program], prefix=self.with_run("--job", "stopped"))
            finally:
                self.cluster.agent.child.send_signal(signal.SIGCONT)
            self.assertEqual(done[0], 0)
            self.assertEqual(done[1].count(b"\n"), lines)
            eventually(lambda: self.cluster.get("/jobs/stopped/count")["count"] == lines, timeout=120,
                       what="every line, once the agent runs again")

    def test_case_54_what_a_killed_writer_had_buffered_is_lost_to_all_unless_it_is_unbuffered(self):
        # Nothing that could follow a file can have what never came into it; no gap is claimed either.
        program = ("import os, sys, time\nfor i in range(50): print('step', i)\n"
                   "with open(sys.argv[1] + '.new', 'w') as file: file.write(str(os.getpid()))\n"
                   "os.rename(sys.argv[1] + '.new', sys.argv[1])\ntime.sleep(60)")
        with Cluster() as self.cluster:
            self.cluster.start_aggregator()
            self.agent(own_runs=True)
            eventually(lambda: self.cluster.get("/status")["agents"], what="agent")
            self.environment.pop("PYTHONUNBUFFERED", None)
            for job, more, there in (("buffered", {}, 0), ("unbuffered", {"PYTHONUNBUFFERED": "1"}, 50)):
                marker = os.path.join(self.state, job)
                run = subprocess.Popen([*self.with_run("--job", job), "sh", "-c",
                                        'echo begin; exec "$@"', "sh", PYTHON, "-c", program, marker],
                                       stdout=subprocess.PIPE, env={**self.environment, **more})
                self.addCleanup(run.kill)
                eventually(lambda m=marker: os.path.exists(m), what="the end of the loop")
                with open(marker, encoding="ascii") as file:
                    os.kill(int(file.read()), signal.SIGKILL)
                self.assertEqual(run.communicate(timeout=30)[0].count(b"step"), there)
                eventually(lambda j=job, n=there: self.cluster.get(f"/jobs/{j}/count")["count"] == 1 + n,
                           what=f"the lines of {job}")
                streams = self.cluster.get(f"/jobs/{job}/streams")["streams"]
                self.assertEqual([stream["gaps"] for stream in streams], [[]] * len(streams))

    def test_a_rank_that_fails_at_once_is_one_attempt_that_failed(self):
        self.environment.update(RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
        with Cluster() as self.cluster:
            self.cluster.start_aggregator()
            self.agent(own_runs=False)
            eventually(lambda: self.cluster.get("/status")["agents"], what="agent")
            for pause in ("", "import time; time.sleep(0.3); ", "import time; time.sleep(1.5); "):
                job = f"fails{len(pause)}{pause[-6:-2].strip('()').replace('.', '')}"
                self.execute([PYTHON, "-c", pause + "import nosuchmodule"],
                             prefix=self.with_run("--job", job))
                verdict = eventually(
                    lambda: (v := self.cluster.get(f"/jobs/{job}/triage"))["verdict"] != "healthy"
                    and v, what=f"the verdict on {job}")
                self.assertEqual(verdict["verdict"], "failed")
                self.assertEqual(verdict["first"]["ranks"], [0])
                time.sleep(2.5)  # what stays behind for an agent has left
                self.assertEqual(self.cluster.get(f"/jobs/{job}/triage")["attempt"], 0)
                self.assertEqual(self.cluster.get(f"/jobs/{job}")["jobs"][0]["attempts"], [0])
            names = [job["job"] for job in self.cluster.get("/jobs")["jobs"]]
            guessed = [name for name in names if re.search(r"-\d+-\d{9,}$", name)]
            self.assertEqual(guessed, [], "a run was taken for a job before it had named its own")

    def test_an_agent_of_ours_finds_runs_that_are_over(self):
        for text in ("one", "two"):
            self.execute(["echo", text], prefix=self.with_run("--job", "team/over"))
        time.sleep(2.5)  # those that stay behind for an agent have left
        with Cluster() as self.cluster:
            self.cluster.start_aggregator()
            self.agent(own_runs=True)
            eventually(lambda: len(self.texts("team/over")) == 2, what="both runs")
            job = self.cluster.get("/jobs/team/over")["jobs"][0]
            self.assertEqual(job["attempts"], [0, 1])


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
