"""What a job is like before anything happens to it: drawn from the seed alone."""
from dataclasses import dataclass, field, replace

from . import layouts
from .clocks import Clock
from .dice import dice, weighted

WORLDS = {8: 26, 16: 21, 32: 16, 64: 14, 128: 10, 256: 7, 512: 4, 1024: 2}
LAUNCHERS = {"torchrun": 30, "slurm_tasks": 24, "slurm_label": 9, "mpirun": 12, "ray": 7,
             "kubernetes": 10, "plain": 8}
LOGGERS = {"plain": 18, "dash": 12, "megatron": 16, "deepspeed": 12, "hf": 8, "loguru": 9, "nemo": 8,
           "titan": 8, "absl": 6, "seconds": 8, "bare": 3}
# Lines of one job are bounded: a rank logs fewer iterations in a bigger world.
LOGGED = {8: (40, 150), 16: (40, 120), 32: (30, 100), 64: (30, 80), 128: (25, 60), 256: (20, 45),
          512: (16, 32), 1024: (14, 24)}
GPU_BUS = ["1b", "29", "45", "4e", "9b", "aa", "c3", "db"]


@dataclass
class Plan:
    seed: int
    kind: str
    world: int
    per_host: int
    layout: layouts.Layout
    launcher: str
    logger: str
    everyone: bool          # each rank prints the iteration lines, else one does
    arrivals: bool          # a line before the barrier: "batch ready"
    local_loss: bool        # the printed loss is the rank's own, not the reduced one
    interval: int           # iterations between printed ones
    step: float             # seconds
    jitter: float           # relative, of a rank's part of a step
    first: int
    iterations: int
    checkpoint_every: int   # 0: never
    backend: str
    torch: str
    nccl_debug: bool
    timeout: float          # of a collective, seconds
    start: float            # true time
    noise: float            # probability of a noise line per rank and printed iteration
    kernel_logs: bool
    kernel_form: str
    name: str
    number: int             # of the batch system
    hosts: list
    clocks: list
    pids: list              # of rank, in attempt 0
    extra: dict = field(default_factory=dict)

    @property
    def host_count(self):
        return len(self.hosts)

    def host(self, rank):
        return rank // self.per_host

    def local_rank(self, rank):
        return rank % self.per_host

    def ranks_of(self, host):
        return range(host * self.per_host, (host + 1) * self.per_host)

    def printer(self):
        """The one rank that prints iteration lines when not all do."""
        return self.world - 1 if self.logger == "megatron" else 0

    def prints_iterations(self, rank):
        return self.everyone or rank == self.printer()

    def bus(self, rank):
        return GPU_BUS[self.local_rank(rank) % len(GPU_BUS)]

    def address(self, host):
        return f"10.20.{3 + host // 200}.{17 + host % 200}"


def draw(seed, kind, world=None, max_world=None, wish=None):
    """`wish` fixes fields by name: a kind that must be told from the lines needs them printed."""
    rng = dice(seed, kind, "plan")
    wish = dict(wish or {})
    if world is None:
        allowed = {w: n for w, n in WORLDS.items() if w <= (max_world or 1024)}
        world = weighted(rng, allowed)
    per_host = 8 if world % 8 == 0 and (world > 8 or rng.random() < 0.6) else 4
    if world % per_host:
        per_host = 1
    layout = layouts.draw(rng, world, per_host)
    launcher = weighted(rng, LAUNCHERS)
    logger = weighted(rng, LOGGERS)
    everyone = rng.random() < 0.7
    low, high = next(LOGGED[w] for w in sorted(LOGGED, reverse=True) if w <= max(world, 8))
    interval = weighted(rng, {1: 4, 2: 1, 5: 3, 10: 3})
    logged = rng.randint(low, high)
    step = round(10 ** rng.uniform(-0.7, 1.3), 3)
    start = 1_771_000_000 + rng.randrange(240 * 86400) + rng.random()
    worst = weighted(rng, {0.002: 2, 0.05: 3, 0.8: 2, 5.0: 3})
    zone = weighted(rng, {0: 6, 3600: 1, 28800: 1, -25200: 1})
    host_count = world // per_host
    base = rng.randrange(1, 900 - min(host_count, 800))
    hosts = [f"gpu-n{base + i:03d}" for i in range(host_count)]
    clocks = [Clock(rng.uniform(-worst, worst), rng.uniform(-2e-5, 2e-5), start, zone)
              for _ in hosts]
    pids, pid = [], rng.randrange(20000, 60000)
    for _ in range(world):
        pid += rng.randint(1, 9)
        pids.append(pid)
    backend = "nccl" if rng.random() < 0.92 else "gloo"
    torch = weighted(rng, {"2.1": 1, "2.5": 3, "2.6": 4, "2.8": 3})
    plan = Plan(
        seed=seed, kind=kind, world=world, per_host=per_host, layout=layout, launcher=launcher,
        logger=logger, everyone=everyone, arrivals=everyone and rng.random() < 0.45,
        local_loss=rng.random() < 0.2 and layout.pipeline == 1,
        interval=interval, step=step, jitter=rng.uniform(0.004, 0.03),
        first=rng.choice([0, 0, 1, 1, 1000, 47000]), iterations=logged * interval,
        checkpoint_every=rng.choice([0, 0, 20, 50]) * interval, backend=backend, torch=torch,
        nccl_debug=backend == "nccl" and rng.random() < 0.45,
        timeout=rng.choice([600.0, 600.0, 1800.0, 120.0]), start=start,
        noise=rng.choice([0.0, 0.01, 0.03]), kernel_logs=rng.random() < 0.5,
        kernel_form=rng.choice(["syslog", "syslog", "dmesg"]),
        name=rng.choice(["llm7", "vit-l", "moe-16b", "t5-xl", "diffusion2", "pretrain7b"]),
        number=rng.randrange(10000, 999999), hosts=hosts, clocks=clocks, pids=pids)
    for name, value in wish.items():
        setattr(plan, name, value)
    return plan


def split_hosts(plan, rng):
    """Two hosts of what was drawn as one."""
    plan.per_host = plan.world // 2
    plan.hosts = [plan.hosts[0], plan.hosts[0][:-3] + f"{int(plan.hosts[0][-3:]) + 1:03d}"]
    plan.clocks = [plan.clocks[0], replace(plan.clocks[0], offset=rng.uniform(-1, 1) * 2 * plan.clocks[0].offset)]


def settle(plan, rng, timed):
    """What follows from the rest. `timed`: the lines must have times."""
    if timed and plan.logger == "bare":
        plan.logger = "plain"
    # torchrun's directories and pods do not tell a rank among several hosts: the lines must, and
    # those that do are NCCL's.
    names_needed = plan.launcher == "kubernetes" or (plan.launcher == "torchrun" and plan.host_count > 1)
    if names_needed:
        plan.backend = "nccl"
        if plan.torch == "2.1":
            plan.torch = "2.5"
    if plan.backend == "gloo":
        plan.nccl_debug = False
    plan.arrivals = plan.arrivals and plan.everyone
    plan.extra.setdefault("before_sync", plan.everyone and rng.random() < 0.15)
