"""What PyTorch's NCCL process group and NCCL itself print when collectives fail.

Line numbers and prefixes are those of the release; the long advice is shortened where it only repeats.
"""
from dataclasses import dataclass

# release -> caught, exception, timeout at, some failed, taking down, terminated, group's name
SITES = {"2.1": (525, None, None, 577, 583, 1414, None), "2.5": (607, 1664, 1709, 621, 627, 1515, "PG {g}"),
         "2.6": (616, 1785, 1834, 630, 636, 1595, "PG ID {g} PG GUID {g}(default_pg)"),
         "2.8": (685, 1846, 1896, 699, 705, 1921, "PG ID {g} PG GUID {g}(default_pg)")}
FRAMES = ["c10::Error::Error(c10::SourceLocation, std::string) + 0x{o:x} (0x{a:x} in {lib}/libc10.so)",
          "c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout(std::optional<std::chrono::duration<long, "
          "std::ratio<1l, 1000l> > >) + 0x{o:x} (0x{a:x} in {lib}/libtorch_cuda.so)",
          "c10d::ProcessGroupNCCL::watchdogHandler() + 0x{o:x} (0x{a:x} in {lib}/libtorch_cuda.so)",
          "c10d::ProcessGroupNCCL::ncclCommWatchdog() + 0x{o:x} (0x{a:x} in {lib}/libtorch_cuda.so)",
          "clone + 0x{o:x} (0x{a:x} in /usr/lib/x86_64-linux-gnu/libc.so.6)"]
LIB = "/srv/venv/lib/python3.12/site-packages/torch/lib"


@dataclass(frozen=True)
class Work:
    seq: int
    op: str
    elements: int
    group: int = 0


def _op(work, timeout_ms, torch):
    numel = "" if torch == "2.1" else f"NumelIn={work.elements}, NumelOut={work.elements}, "
    return f"WorkNCCL(SeqNum={work.seq}, OpType={work.op}, {numel}Timeout(ms)={timeout_ms})"


def watchdog(attempt, rank, t, work, timeout, enqueued, completed):
    """One rank's watchdog gives up on `work` at true time t. Returns the time of its last line."""
    job = attempt.job
    torch, rng = job.plan.torch, job.rng
    caught, exception, at, some, down, ended, group = SITES[torch]
    milli = int(timeout * 1000)
    group = f"[{group.format(g=work.group)} Rank {rank}]" if group else f"[Rank {rank}]"
    what = (f"Watchdog caught collective operation timeout: {_op(work, milli, torch)} ran for "
            f"{milli + rng.randint(2, 99)} milliseconds before timing out.")

    def say(delay, line, text, name):
        attempt.c10(rank, t + delay, "nccl.watchdog." + name, "E", "ProcessGroupNCCL.cpp", line, text)

    say(0, caught, f"[Rank {rank}] {what}", "caught")
    if exception:
        status = f"last enqueued NCCL work: {enqueued}, last completed NCCL work: {completed}."
        say(0.0003, exception, f"{group} Exception (either an error or timeout) detected by watchdog at "
            f"work: {work.seq}, {status}", "exception")
        say(0.02, at, f"{group} Timeout at NCCL work: {work.seq}, {status}", "timeout")
    say(0.0201, some, f"[Rank {rank}] Some NCCL operations have failed or timed out. Due to the asynchronous "
        "nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.", "some")
    say(0.0202, down, f"[Rank {rank}] To avoid data inconsistency, we are taking the entire process down.", "down")
    say(0.0210, ended, f"{group} Process group watchdog thread terminated with exception: [Rank {rank}] {what}",
        "terminated")
    end = t + 0.0211
    attempt.raw(rank, end, "nccl.raised", "Exception raised from checkTimeout at "
                f"../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:{caught + 14} (most recent call first):")
    for i, frame in enumerate(FRAMES):
        attempt.raw(rank, end, f"nccl.frame.{i}", f"frame #{i}: " + frame.format(
            o=rng.randrange(16, 4096), a=0x7f0000000000 + rng.randrange(1 << 40), lib=LIB))
    attempt.raw(rank, end + 0.01, "cpp.blank", "")
    attempt.raw(rank, end + 0.01, "cpp.terminate",
                "terminate called after throwing an instance of 'c10::DistBackendError'")
    attempt.raw(rank, end + 0.01, "cpp.what", f"  what():  {group} Process group watchdog thread terminated with "
                f"exception: [Rank {rank}] {what}")
    return end + 0.02


def dump_signal(attempt, rank, t, source, enqueued, completed):
    """A living rank whose own work is not late learns that others gave up."""
    attempt.c10(rank, t, "nccl.dump_signal", "E", "ProcessGroupNCCL.cpp", 1354,
                f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] Received a dump signal due to a collective timeout "
                f"from  rank {source} and we will try our best to dump the debug info. Last enqueued NCCL work: "
                f"{enqueued}, last completed NCCL work: {completed}.This is most likely caused by incorrect usages "
                "of collectives, e.g., wrong sizes used across ranks, the order of collectives is not same for all "
                "ranks or the scheduled collective, for some reason, didn't run.")


def store_lost(attempt, rank, t, server):
    """The process that held the store is gone."""
    me = attempt.job.plan.hosts[attempt.job.plan.host(rank)]
    fd, port = attempt.job.rng.randint(60, 140), attempt.job.rng.randint(33000, 60000)
    attempt.c10(rank, t, "nccl.store_lost", "W", "TCPStore.cpp", 125,
                f"[c10d] recvValue failed on SocketImpl(fd={fd}, addr=[{me}]:{port}, remote=[{server}]:29500): "
                "failed to recv, got 0 bytes")
    attempt.c10(rank, t + 0.0004, "nccl.should_dump", "W", "ProcessGroupNCCL.cpp", 1662,
                f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}] Failed to check the \"should dump\" flag on TCPStore, "
                "(maybe TCPStore server has shut down too early), with error: failed to recv, got 0 bytes")


def info(attempt, rank, t, statement, text):
    job = attempt.job
    plan = job.plan
    pid = attempt.pid(rank)
    attempt.raw(rank, t, "nccl." + statement,
                f"{plan.hosts[plan.host(rank)]}:{pid}:{pid + 164} [{plan.local_rank(rank)}] NCCL INFO {text}",
                "stdout")


def warn(attempt, rank, t, statement, site, text):
    plan = attempt.job.plan
    pid = attempt.pid(rank)
    stamp = f"[{attempt.stamp(rank, t)}] " if plan.torch in ("2.6", "2.8") else ""
    attempt.raw(rank, t, "nccl.blank", "", "stdout")
    attempt.raw(rank, t, "nccl." + statement,
                f"{stamp}{plan.hosts[plan.host(rank)]}:{pid}:{pid + 188} [{plan.local_rank(rank)}] {site} NCCL WARN "
                f"{text}", "stdout")
