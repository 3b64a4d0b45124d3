"""The scheduler takes the hosts back: everyone gets SIGTERM."""
from .. import clocks, truth
from ..texts import elastic
from .base import Fault


class Preempted(Fault):
    verdict = "preempted"
    kinds = ("preemption",)

    def strike(self, attempt, k):
        plan, rng = self.plan, self.rng
        attempt.enter(k)
        self.time = t = attempt.barrier + plan.step * rng.uniform(0.1, 0.8)
        tells = plan.launcher in ("plain", "ray", "mpirun", "kubernetes") or rng.random() < 0.5
        saves = rng.random() < 0.4
        for rank in range(plan.world):
            at = t + rng.uniform(0.001, 0.3)
            if tells:
                attempt.raw(rank, at, "preempt.signal", f"[rank: {rank}] Received SIGTERM: 15")
            if saves and plan.layout.writes_checkpoint(rank):
                attempt.say(rank, at + 0.02, "preempt.saving", "WARNING", f"preemption notice, saving checkpoint at iteration {k}",
                            ("train.py", 120, "on_signal"))
            attempt.exit(rank, at + rng.uniform(1, 4), -15)
        getattr(self, plan.launcher, self.silent)(attempt, t)
        attempt.ends(t + 6)
        return True

    def silent(self, attempt, t):
        pass

    def slurm_tasks(self, attempt, t):
        plan = self.plan
        for host in range(plan.host_count):
            local = plan.clocks[host].local(t)
            attempt.launcher(None, t + 0.01 * host / plan.host_count, "slurm.preempted",
                             f"slurmstepd: error: *** STEP {plan.number}.0 ON {plan.hosts[host]} CANCELLED AT "
                             f"{clocks.iso(local, mark='T', digits=0)} DUE TO PREEMPTION ***")

    slurm_label = slurm_tasks

    def torchrun(self, attempt, t):
        plan = self.plan
        for host in range(plan.host_count):
            clock, pid = plan.clocks[host], attempt.job.launcher.agent_pid(host)
            attempt.launcher(host, t, "elastic.death", elastic.header(clock.local(t), "W", pid, "agent/server/api.py:719") +
                             " Received 15 death signal, shutting down workers")
            for rank in plan.ranks_of(host):
                attempt.launcher(host, t + 0.001, "elastic.closing", elastic.header(
                    clock.local(t), "W", pid, "multiprocessing/api.py:897") +
                    f" Sending process {attempt.pid(rank)} closing signal SIGTERM")

    kubernetes = torchrun

    def mpirun(self, attempt, t):
        attempt.launcher(None, t, "mpirun.forward", "mpirun: Forwarding signal 15 to job")

    def truth(self, attempt):
        return truth.failing(attempt, self.verdict, self.kinds, range(self.plan.world), self.iteration, self.time,
                             determinable=False)


LABELS = {"preemption": Preempted}
