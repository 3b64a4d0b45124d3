"""From a seed to a job."""
from . import plan as plans
from .dice import dice
from .faults import HEALTHY_SHARE, KINDS
from .job import Job
from .write import write


def kind_of(seed, among=None):
    """The kind of a seed's job in a mixed set."""
    rng = dice(seed, "kind")
    healthy, drawn = sum(HEALTHY_SHARE.values()), rng.random()
    if drawn < healthy:
        name = "healthy" if drawn < HEALTHY_SHARE["healthy"] else "lookalike"
        return name if among is None or name in among else rng.choice(sorted(among))
    return rng.choice(sorted(set(among or KINDS) - set(HEALTHY_SHARE)) or sorted(among))


def build(seed, kind=None, world=None, max_world=None):
    """(job, truth): all in memory, a function of its arguments alone."""
    kind = kind or kind_of(seed)
    wish = KINDS[kind].wishes(dice(seed, kind, "wish"))
    several, timed = wish.pop("several_hosts", False), wish.pop("timed", False)
    if several and (world or max_world or 1024) <= 8:
        world = 8
    plan = plans.draw(seed, kind, world, max_world, wish)
    if several and plan.host_count == 1:
        plan = plans.draw(seed, kind, world or 16, max_world, wish)
    if several and plan.host_count == 1:
        plans.split_hosts(plan, dice(seed, kind, "hosts"))
    plans.settle(plan, dice(seed, kind, "settle"), timed)
    job = Job(plan, None)
    job.fault = KINDS[kind](job)
    job.fault.adjust()
    return job, job.run()


def generate(seed, directory, kind=None, world=None, max_world=None, with_groups=False):
    """Writes directory/logs and directory/truth.json; the truth."""
    import json
    import os
    job, truth = build(seed, kind, world, max_world)
    os.makedirs(directory, exist_ok=True)
    truth["files"] = write(job, directory, with_groups)
    truth["lines"] = sum(truth["files"].values())
    with open(os.path.join(directory, "truth.json"), "w", encoding="utf-8") as file:
        json.dump(truth, file, indent=1, sort_keys=True)
        file.write("\n")
    return truth
