"""What the healthy ranks do after one broke: they wait, they lose their peer, they are stopped."""
from .dice import dice, weighted
from .texts import nccl, python


def work_of(plan, k):
    """The collective at the end of iteration k: sequence number, kind, size."""
    rng = dice(plan.seed, "collective")
    each = rng.choice([3, 12, 47, 160])
    op = "ALLREDUCE" if plan.layout.data == plan.world else rng.choice(
        ["_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE", "ALLREDUCE", "COALESCED"])
    return nccl.Work((k - plan.first + 1) * each + 2, op, rng.choice([9801523, 466119168, 544997376, 1]))


def after_death(attempt, t, dead, k, ways=None):
    """Ranks `dead` ended at t during iteration k. Every other rank ends, in one of three ways."""
    plan, rng = attempt.plan, attempt.rng
    ways = ways or {"closed": 5, "stopped": 3, "timeout": 2}
    if plan.launcher == "plain":
        ways = {w: n for w, n in ways.items() if w != "stopped"}  # nobody is there to stop them
    if plan.backend == "gloo" or plan.launcher == "mpirun":  # mpirun stops all when one ends badly
        ways = {w: n for w, n in ways.items() if w != "timeout"} or {"closed": 1}
    way = attempt.way = weighted(rng, ways)
    host = plan.host(min(dead))
    if way == "timeout":
        waiting = attempt.others(*dead)
        if plan.launcher in ("torchrun", "kubernetes"):  # the agent stops the other ranks of its host
            near = [r for r in waiting if plan.host(r) == host]
            stop_all(attempt, t, among=near)
            waiting = [r for r in waiting if r not in near]
        return wait_for_timeout(attempt, attempt.barrier + plan.step, waiting, k, dead)
    for rank in attempt.others(*dead):
        near = plan.host(rank) == host and plan.launcher != "plain"
        if way == "stopped" or (near and rng.random() < 0.7):
            attempt.exit(rank, t + rng.uniform(0.15, 1.2 if near else 4.0), -15)
            continue
        at = t + rng.uniform(0.02, 2.5)
        lose_peer(attempt, rank, at, host)
    if 0 in dead and plan.backend == "nccl" and plan.torch != "2.1":
        lose_store(attempt, t)
    return attempt.ends(t + 8)


def lose_peer(attempt, rank, at, host):
    python.peer_lost(attempt, rank, at, host)
    attempt.failed(rank, at, "peer lost")
    attempt.exit(rank, at + attempt.rng.uniform(0.3, 1.5), 1)


def lose_store(attempt, t):
    plan = attempt.plan
    ends = {rank: end for end, rank, _ in attempt.exits}
    for rank in attempt.others(*plan.ranks_of(0)):
        at = t + attempt.rng.uniform(0.01, 0.4)
        if at < ends.get(rank, at):
            nccl.store_lost(attempt, rank, at, plan.hosts[0])


def wait_for_timeout(attempt, t, waiting, k, absent, enqueued=None, silent=()):
    """The watchdogs of `waiting` give up one by one; `silent` of them are stopped before they do."""
    plan, rng = attempt.plan, attempt.rng
    work = work_of(plan, k)
    ahead = enqueued if enqueued is not None else rng.randint(0, 3)
    gone = t
    for rank in waiting:
        at = t + plan.timeout + rng.uniform(0, 0.4)
        gone = max(gone, at)
        if rank in silent:
            continue
        end = nccl.watchdog(attempt, rank, at, work, plan.timeout, work.seq + ahead, work.seq - 1)
        attempt.failed(rank, at, "collective timed out")
        attempt.exit(rank, end + rng.uniform(0.01, 0.2), -6)
    attempt.ends(gone + 5)
    return gone


def stop_all(attempt, t, code=-15, among=None):
    ended = {rank for _, rank, _ in attempt.exits}
    for rank in among if among is not None else range(attempt.plan.world):
        if rank not in ended:
            attempt.exit(rank, t + attempt.rng.uniform(0.1, 1.5), code)
    attempt.ends(t + 3)
