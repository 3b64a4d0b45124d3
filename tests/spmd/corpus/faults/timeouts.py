"""Collectives that end by their time-out: a rank hangs, a host is dead, a link is bad."""
from .. import cascade, truth
from ..texts import nccl
from .base import Fault

WORDS = ["waiting for data shard {s}", "retrying read of /data/tokens/shard_{s:05d}.bin",
         "tokenizer cache is rebuilt, this may take a while", "filesystem lock /data/.lock held by another process"]


class HungRank(Fault):
    """One rank never comes to the collective; it lives, and learns in the end that others gave up."""
    kinds = ("collective_timeout", "hang")
    wish = {"backend": "nccl"}

    def strike(self, attempt, k):
        plan, rng, rank = self.plan, self.rng, self.rank
        self.time = attempt.barrier + plan.step * rng.uniform(0.05, 0.5)
        attempt.enter(k, without=(rank,))
        if rng.random() < 0.5:
            attempt.say(rank, self.time, "hang.word", rng.choice(["INFO", "WARNING"]),
                        rng.choice(WORDS).format(s=rng.randrange(999)), ("data.py", 88, "fetch"))
        attempt.failed(rank, self.time, "hangs")
        waiting = attempt.others(rank)
        gone = cascade.wait_for_timeout(attempt, attempt.barrier + plan.step, waiting, k, [rank])
        work = cascade.work_of(plan, k)
        if plan.torch in ("2.6", "2.8"):
            nccl.dump_signal(attempt, rank, gone - 0.1, waiting[0], work.seq - rng.randint(1, 3) - 1, work.seq - 5)
        attempt.exit(rank, gone + rng.uniform(1, 5), -15)
        return True

    def truth(self, attempt):
        return truth.failing(attempt, self.verdict, self.kinds, [self.rank], self.iteration, self.time)


class DeadHost(Fault):
    """All ranks of one host stop without a word; the others' collectives time out or break."""
    kinds = ("collective_timeout", "node_failure", "killed")
    wish = {"backend": "nccl"}

    @classmethod
    def wishes(cls, rng):
        return {"backend": "nccl", "several_hosts": True}

    def strike(self, attempt, k):
        plan, rng = self.plan, self.rng
        self.host = plan.host(self.rank)
        plan.extra["dead_hosts"] = (self.host,)
        dead = list(plan.ranks_of(self.host))
        self.time = t = attempt.barrier + plan.step * rng.uniform(0.02, 0.6)
        arrivals = attempt.enter(k, without=())
        for rank in dead:
            attempt.failed(rank, t, "host died")
            attempt.job.book.cut(attempt.number, ("rank", rank), min(t, arrivals[rank]))
        attempt.job.book.cut(0, ("host", self.host), t)
        attempt.job.book.cut(attempt.number, ("launcher", self.host), t)
        if self.host == 0 and plan.launcher == "mpirun":
            attempt.job.book.cut(attempt.number, ("launcher", None), t)
        waiting = attempt.others(*dead)
        if rng.random() < 0.6:
            end = cascade.wait_for_timeout(attempt, attempt.barrier + plan.step, waiting, k, dead)
        else:
            self.kinds = ("node_failure", "collective_timeout", "killed")
            end = t
            for rank in waiting:
                at = t + rng.uniform(8, 20)
                if rank % 8 == 0 or rng.random() < 0.2:
                    ib_error(attempt, rank, at - 0.01, self.host)
                cascade.lose_peer(attempt, rank, at, self.host)
                end = max(end, at)
        if self.host == 0 and plan.torch != "2.1":
            cascade.lose_store(attempt, t + 5)
        if plan.launcher.startswith("slurm") and rng.random() < 0.4:
            attempt.launcher(None, t + rng.uniform(30, 90), "srun.node_failure",
                             f"srun: error: Node failure on {plan.hosts[self.host]}")
        attempt.ends(end + 10)
        return True

    def truth(self, attempt):
        return truth.failing(attempt, self.verdict, self.kinds, self.plan.ranks_of(self.host), self.iteration, self.time)


def ib_error(attempt, rank, t, peer_host, side="Send"):
    plan = attempt.plan
    nccl.warn(attempt, rank, t, "ib_completion", "transport/net_ib.cc:1298",
              f"NET/IB : Got completion from peer {plan.address(peer_host)}<{attempt.rng.randint(20000, 60000)}> with "
              f"status=12 opcode=1 len=0 vendor err 129 ({side}) localGid ::ffff:10.20.4.{17 + plan.host(rank) % 200} "
              f"remoteGids::ffff:10.20.4.{17 + peer_host % 200}")


class SlowLink(Fault):
    """The link of one host flaps: every rank is slower, then transfers over it fail and all give up."""
    kinds = ("collective_timeout", "network")

    @classmethod
    def wishes(cls, rng):
        return {"backend": "nccl", "several_hosts": True}

    def delay(self, attempt, rank, k):
        begin = self.iteration - 3 * self.plan.interval
        return 0.0, self.plan.step * 2.5 if begin <= k < self.iteration else 0.0

    def strike(self, attempt, k):
        plan, rng = self.plan, self.rng
        self.host = plan.host(self.rank)
        self.peer = (self.host + 1) % plan.host_count
        self.time = t = attempt.barrier + plan.step * 0.6
        attempt.enter(k)
        if plan.kernel_logs:
            for i, state in enumerate(("DOWN", "ACTIVE", "DOWN")):
                attempt.kernel(self.host, t - 0.5 + 0.1 * i, "kernel.mlx5", f"mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link {state}")
        near = [r for r in plan.ranks_of(self.host)][:4]
        for rank in near:
            at = t + rng.uniform(0, 0.5)
            ib_error(attempt, rank, at, self.peer)
            attempt.failed(rank, at, "link")
        gone = cascade.wait_for_timeout(attempt, attempt.barrier + plan.step, range(plan.world), k, [], enqueued=0)
        attempt.ends(gone + 5)
        return True

    def truth(self, attempt):
        near = list(self.plan.ranks_of(self.host))
        if not self.plan.kernel_logs:
            near += self.plan.ranks_of(self.peer)
        first = min(attempt.failures)[1]
        return truth.failing(attempt, self.verdict, self.kinds, [first], self.iteration, self.time, near, certain=[first])


LABELS = {"timeout_hung_rank": HungRank, "timeout_dead_host": DeadHost, "timeout_slow_link": SlowLink}
