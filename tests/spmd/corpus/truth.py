"""The true verdict of a job, in the words of the contract; it lies outside the log directory.

An attempt's expectation: `verdict` and `kind` with the other words that are as right; `first` with
the ranks that truly broke first, those that an answer may name (`acceptable`), the range of
iterations that the lines can tell, and `certain`: ranks of which a "certain" answer must name one.
`determinable` is false where the lines do not tell the rank: then any answer that is not certain
will do. `order` has the true time of each rank's first failure.
"""


def healthy(attempt):
    return {"attempt": attempt.number, "verdict": "healthy", "verdicts": ["healthy"], "kind": None,
            "kinds": [], "first": None, "order": []}


def failing(attempt, verdict, kinds, ranks, iteration, time, acceptable=None, certain=None,
            determinable=True, verdicts=None):
    plan = attempt.plan
    ranks = sorted(ranks)
    seen = [k for k in attempt.logged if iteration is not None and k <= iteration]
    low = seen[-2] if len(seen) > 1 else attempt.first
    return {
        "attempt": attempt.number, "verdict": verdict, "verdicts": verdicts or [verdict], "kind": kinds[0],
        "kinds": list(kinds),
        "first": {"ranks": ranks, "acceptable": sorted(acceptable if acceptable is not None else ranks),
                  "hosts": sorted({plan.hosts[plan.host(r)] for r in ranks}), "iteration": iteration,
                  "iterations": None if iteration is None else [low, iteration + 1], "time": round(time, 6),
                  "certain": sorted(certain if certain is not None else acceptable if acceptable is not None else ranks),
                  "determinable": determinable},
        "order": [{"rank": r, "time": round(t, 6), "what": what}
                  for t, r, what in sorted(first_of_each(attempt.failures))],
    }


def first_of_each(failures):
    seen = {}
    for t, rank, what in sorted(failures):
        seen.setdefault(rank, (t, rank, what))
    return list(seen.values())


def build(job):
    plan = job.plan
    return {
        "format": 1, "seed": plan.seed, "label": plan.kind, "world": plan.world, "launcher": plan.launcher,
        "logger": plan.logger, "everyone_prints": plan.everyone,
        "layout": {"tensor": plan.layout.tensor, "data": plan.layout.data, "pipeline": plan.layout.pipeline},
        "hosts": [{"name": h, "ranks": [plan.ranks_of(i)[0], plan.ranks_of(i)[-1]],
                   "clock_error": round(plan.clocks[i].offset, 6)} for i, h in enumerate(plan.hosts)],
        "attempts": [job.fault.truth(a) for a in job.attempts],
    }
