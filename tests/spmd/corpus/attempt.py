"""One attempt of a job: start-up, iterations with a barrier each, the end. A fault may change any of it.

Times are true times; the hosts' clocks come in where a stamp is printed.
"""
from . import clocks, startup
from .dice import dice
from .loggers import Said


class Attempt:
    def __init__(self, job, number, start, first, last, fault):
        self.job, self.plan, self.number = job, job.plan, number
        self.start, self.first, self.last, self.fault = start, first, last, fault
        self.rng = dice(self.plan.seed, self.plan.kind, "attempt", number)
        self.barrier = start       # when the last barrier was passed
        self.over = None           # when the attempt ended, set by whoever ended it
        self.exits = []            # (time, rank, code)
        self.failures = []         # (time, rank, what): the true order
        self.logged = []           # iterations printed
        self.ready = False         # the process group stands
        self.way = None            # how the others ended: closed, stopped, timeout
        self.struck = False        # a fault ended it within an iteration

    # Who is who

    def pid(self, rank):
        return self.plan.pids[rank] + 7919 * self.number

    def clock(self, rank):
        return self.plan.clocks[self.plan.host(rank)]

    def stamp(self, rank, t):
        return clocks.iso(self.clock(rank).local(t), digits=0)

    def others(self, *ranks):
        return [r for r in range(self.plan.world) if r not in set(ranks)]

    # Printing

    def raw(self, rank, t, statement, text, stream="stderr"):
        self.job.book.add(t, self.number, ("rank", rank), stream, statement, text)

    def say(self, rank, t, statement, level, text, site=None, stream=None):
        """Through the job's logger."""
        style = self.job.style
        said = Said(rank, self.clock(rank).local(t), level, site or ("train.py", 84, "main"), text,
                    self.pid(rank))
        self.raw(rank, t, statement, style.header(said), stream or style.stream)

    def c10(self, rank, t, statement, level, file, line, text):
        """Through PyTorch's C++ logger."""
        if self.plan.torch == "2.1":
            self.raw(rank, t, statement, f"[{level} {file}:{line}] {text}")
        else:
            self.raw(rank, t, statement,
                     f"[rank{rank}]:[{level}{clocks.c10(self.clock(rank).local(t))} {file}:{line}] {text}")

    def kernel(self, host, t, statement, text):
        self.job.kernel(host, t, statement, text)

    def launcher(self, host, t, statement, text):
        self.job.book.add(t, self.number, ("launcher", host), "launcher", statement, text)

    # Events

    def exit(self, rank, t, code):
        """The process of `rank` ended at t; nothing later of it is in a file."""
        self.exits.append((t, rank, code))
        if code == 1 and self.ready and self.plan.backend == "nccl" and self.plan.torch != "2.1":
            self.c10(rank, t - 0.001, "nccl.not_destroyed", "W", "ProcessGroupNCCL.cpp", 1496,
                     "Warning: WARNING: destroy_process_group() was not called before program exit, which can leak "
                     "resources. For more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown "
                     "(function operator())")
        self.job.book.cut(self.number, ("rank", rank), t)

    def failed(self, rank, t, what):
        self.failures.append((t, rank, what))

    def ends(self, t):
        self.over = max(t, self.over or t)

    # The course of events

    def run(self):
        if self.fault and self.fault.at_start(self):
            return self._finish()
        self.barrier = startup.run(self)
        self.ready = True
        for k in range(self.first, self.last):
            if self.fault and self.fault.before(self, k):
                return self._finish()
            self.iterate(k)
            if self.struck:
                return self._finish()
        if self.fault and self.fault.at_end(self):
            return self._finish()
        self._done()
        return self._finish()

    def _done(self):
        t = self.barrier
        for rank in range(self.plan.world):
            at = t + self.rng.uniform(0.05, 0.6)
            self.say(rank, at, "train.done", "INFO", "training finished", ("train.py", 598, "main"))
            self.exits.append((at + self.rng.uniform(0.5, 2.0), rank, 0))
        self.ends(t + 3)

    def _finish(self):
        last = max([e[0] for e in self.exits] + [self.over or self.barrier])
        self.job.launcher.report(self)
        self.over = last
        return last

    def arrivals(self, k, printed):
        """rank -> (data ready, arrival at the barrier) for iteration k, from the last barrier."""
        plan, fault = self.plan, self.fault
        rng = dice(plan.seed, self.number, "iteration", k) if printed else self.rng
        warm = 1.0 + (4.0 if k == self.first else 0.0) + (1.0 if k == self.first + 1 else 0.0)
        slow = self.job.slow_iteration(self.number, k)
        compute = plan.step * 0.9 * warm * slow

        def one(rank, draw):
            data = plan.step * 0.02 * (1 + 0.5 * draw.random()) + 0.0004
            data_delay, delay = fault.delay(self, rank, k) if fault else (0.0, 0.0)
            ready = self.barrier + data + data_delay
            return ready, ready + compute * (1 + draw.gauss(0, plan.jitter)) + delay

        if printed:
            return {r: one(r, rng) for r in range(plan.world)}
        ranks = {0} | set(fault.slowed if fault else ())
        return {r: one(r, rng) for r in ranks}

    def enter(self, k, without=()):
        """All ranks but some begin iteration k, which nobody ends; rank -> time at the barrier."""
        arrivals = self.arrivals(k, True)
        for rank, (ready, arrival) in arrivals.items():
            if rank not in without and k % self.plan.interval == 0:
                self._before_barrier(rank, k, ready, arrival)
        return {r: a for r, (_, a) in arrivals.items()}

    def _before_barrier(self, rank, k, ready, arrival):
        if self.plan.arrivals:
            self.say(rank, ready, "train.arrival", "INFO",
                     f"iteration {k} | batch ready in {(ready - self.barrier) * 1000:.1f} ms",
                     ("data.py", 140, "next_batch"))
        if self.plan.extra.get("before_sync"):
            self.say(rank, arrival, "train.before_sync", "INFO",
                     f"iteration {k} | backward done, reducing gradients", ("train.py", 188, "train_step"))

    def iterate(self, k):
        plan, job = self.plan, self.job
        printed = k % plan.interval == 0
        before = self.barrier
        arrivals = self.arrivals(k, printed)
        if printed:
            for rank, (ready, arrival) in arrivals.items():
                self._before_barrier(rank, k, ready, arrival)
        self.barrier = max(a for _, a in arrivals.values()) + plan.step * 0.08
        if printed:
            self.logged.append(k)
            self._print(k, before, arrivals)
        job.between(self, k, before)

    def _print(self, k, before, arrivals):
        plan, job = self.plan, self.job
        reduced = job.metrics.reduced(k)
        rng = dice(plan.seed, self.number, "values", k)
        for rank in range(plan.world):
            ready, arrival = arrivals[rank]
            own_loss = job.metrics.own(k, rank, reduced) if plan.local_loss else reduced["loss"]
            if not plan.prints_iterations(rank):
                continue
            values = dict(reduced, loss=own_loss if plan.layout.has_loss(rank) else None,
                          step_ms=(self.barrier - before) * 1000,
                          compute_ms=(arrival - ready) * 1000, data_ms=(ready - before) * 1000,
                          tokens=job.metrics.tokens * rng.uniform(0.97, 1.03), memory=rng.uniform(60, 61))
            if self.fault:
                self.fault.values(self, rank, k, values)
            at = self.barrier + 0.0005 + 0.004 * rng.random()
            values["local"] = self.clock(rank).local(at)
            self._print_one(rank, k, at, values)
            if plan.layout.pipeline > 1 and plan.everyone:
                job.stage_line(self, rank, k, at, rng)
        if plan.extra.get("rank_times"):
            self._rank_times(k, arrivals)

    def _rank_times(self, k, arrivals):
        """Megatron's --timing-log-option all: one rank prints the times of all."""
        rank, t = self.plan.printer(), self.barrier + 0.01
        self.raw(rank, t, "timers.head", "times across ranks (ms):", "stdout")
        self.raw(rank, t, "timers.name", "  forward-backward:", "stdout")
        for r, (ready, arrival) in arrivals.items():
            self.raw(rank, t, "timers.rank", f"     rank {r:2d}: {(arrival - ready) * 1000:.2f}", "stdout")

    def _print_one(self, rank, k, at, values):
        style = self.job.style
        text = style.iteration(k, self.plan, values)
        if self.job.plan.extra.get("timers") and not style.headless:
            text += f" | fwd_bwd_ms {values['compute_ms']:.1f} | data_ms {values['data_ms']:.1f}"
        name = "train.iteration" if values["loss"] is not None else "train.iteration.no_loss"
        if style.headless:
            self.raw(rank, at, name, text, style.stream)
        else:
            self.say(rank, at, name, "INFO", text, style.site)
