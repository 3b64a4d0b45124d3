"""torchrun's agent: what it says of its children, and the table at the end."""
from .. import clocks

SIGNALS = {6: "SIGABRT", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM", 7: "SIGBUS"}


def header(local, level, pid, site):
    return f"{level}{clocks.glog(local, 3)}000 {pid} torch/distributed/elastic/{site}]"


def omp(say, local, pid):
    stars = "*" * 41
    for name, text in (("stars", stars), ("omp", "Setting OMP_NUM_THREADS environment variable for each process to be 1 "
                       "in default, to avoid your system being overloaded, please further tune the variable for "
                       "optimal performance in your application as needed."), ("stars", stars)):
        say("elastic." + name, f"W{clocks.glog(local, 3)}000 {pid} torch/distributed/run.py:793] {text}")


def child_failed(say, local, pid, failures, others, host_name, script):
    """failures: (local time, rank, local rank, pid, exit code), the first by the host's clock first;
    others: pids that still ran."""
    for other in others:
        say("elastic.closing", header(local, "W", pid, "multiprocessing/api.py:897") +
            f" Sending process {other} closing signal SIGTERM")
    first = failures[0]
    say("elastic.failed", header(local + 0.4, "E", pid, "multiprocessing/api.py:869") +
        f" failed (exitcode: {first[4]}) local_rank: {first[2]} (pid: {first[3]}) of binary: /srv/venv/bin/python3")
    say("python.traceback", "Traceback (most recent call last):")
    say("python.frame", '  File "/srv/venv/bin/torchrun", line 8, in <module>')
    say("python.source:sys.exit(main())", "    sys.exit(main())")
    say("elastic.error", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ")
    say("elastic.bar", "=" * 60)
    say("elastic.script", f"{script} FAILED")
    say("elastic.bar", "-" * 60)
    say("elastic.failures", "Failures:")
    if len(failures) == 1:
        say("elastic.none", "  <NO_OTHER_FAILURES>")
    for i, failure in enumerate(failures[1:], 1):
        _row(say, i, failure, host_name)
    say("elastic.bar", "-" * 60)
    say("elastic.root", "Root Cause (first observed failure):")
    _row(say, 0, first, host_name)
    say("elastic.bar", "=" * 60)


def _row(say, index, failure, host_name):
    local, rank, local_rank, pid, code = failure
    say("elastic.index", f"[{index}]:")
    say("elastic.time", f"  time      : {clocks.iso(local, mark='_', digits=0)}")
    say("elastic.host", f"  host      : {host_name}.cluster.example")
    say("elastic.rank", f"  rank      : {rank} (local_rank: {local_rank})")
    say("elastic.exit", f"  exitcode  : {code} (pid: {pid})")
    say("elastic.file", "  error_file: <N/A>")
    why = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    if code < 0:
        why = f"Signal {-code} ({SIGNALS[-code]}) received by PID {pid}"
    say("elastic.traceback", f"  traceback : {why}")
