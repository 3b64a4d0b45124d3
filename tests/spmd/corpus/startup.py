"""What ranks print before the first iteration."""
from . import clocks
from .texts import elastic, nccl

ARGUMENTS = ["adam_beta1", "adam_beta2", "bf16", "clip_grad", "context_parallel_size", "data_path", "eval_interval",
             "ffn_hidden_size", "global_batch_size", "hidden_size", "lr", "lr_decay_style", "micro_batch_size",
             "num_attention_heads", "num_layers", "seq_length", "tokenizer_type", "train_iters", "vocab_size",
             "weight_decay"]


def run(attempt):
    """Prints the start of every rank; the true time at which all left the first barrier."""
    plan, rng, job = attempt.plan, attempt.rng, attempt.job
    first_barrier = begin(attempt)
    for rank in range(plan.world):
        t = first_barrier + 0.01 * rng.random()
        names_device(attempt, rank, t)
        attempt.say(rank, t + 0.2 + rng.random(), "start.model", "INFO",
                    f"model has {job.parameters} parameters on rank {rank}", ("model.py", 77, "build"))
        attempt.say(rank, t + 1.4 + rng.random(), "start.dataset", "INFO",
                    f"dataset shard {plan.layout.data_rank(rank)} of {plan.layout.data}: "
                    f"{rng.randrange(10_000, 900_000)} samples", ("data.py", 61, "open_shard"))
        if attempt.first > plan.first or plan.first > 1:
            attempt.say(rank, t + 3 + rng.random(), "start.loaded", "INFO",
                        f"loaded checkpoint from /ckpt/{plan.name}/iter_{max(attempt.first - 1, 0):07d}",
                        ("checkpoint.py", 203, "load"))
    if rng.random() < 0.6:
        dump_arguments(attempt, first_barrier + 0.1)
    job.noise.at_start(attempt, first_barrier)
    if attempt.fault:
        attempt.fault.after_start(attempt, first_barrier + 5.0)
    attempt.say(0, first_barrier + 5.5, "start.begin", "INFO", f"starting training at iteration {attempt.first}",
                ("train.py", 560, "main"))
    return first_barrier + 6.0


def begin(attempt, without=()):
    """The ranks come up, except `without`; when the last is there."""
    plan, rng = attempt.plan, attempt.rng
    last = attempt.start
    attempt.job.launcher.begin(attempt)
    for rank in range(plan.world):
        if rank in without:
            continue
        t = attempt.start + 2 + 6 * rng.random()
        last = max(last, t)
        attempt.say(rank, t, "start.init", "INFO",
                    f"rank {rank} of {plan.world} ready, pid {attempt.pid(rank)} on "
                    f"{plan.hosts[plan.host(rank)]} ({plan.layout.text()})", ("dist.py", 44, "init"))
    return last + 0.5


def names_device(attempt, rank, t):
    """Lines of PyTorch and NCCL that tell which rank and GPU this is."""
    plan, rng = attempt.plan, attempt.rng
    if plan.backend != "nccl":
        return
    if plan.torch != "2.1" and (attempt.job.launcher.needs_names or plan.extra.get("names", False)):
        attempt.c10(rank, t, "start.device", "W", "ProcessGroupNCCL.cpp", 4561,
                    f"[PG ID 0 PG GUID 0 Rank {rank}]  using GPU {plan.local_rank(rank)} as device used by this process "
                    "is currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect.")
    if not plan.nccl_debug:
        return
    comm, identity = rng.randrange(1 << 44), attempt.job.communicator
    peer = (rank + 1) % plan.world
    nccl.info(attempt, rank, t + 0.1, "bootstrap", f"Bootstrap : Using eth0:{plan.address(plan.host(rank))}<0>")
    nccl.info(attempt, rank, t + 0.11, "net", "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB "
              f"eth0:{plan.address(plan.host(rank))}<0>")
    for channel in range(2):
        nccl.info(attempt, rank, t + 0.12, "channel", f"Channel {channel:02d}/0 : {rank}[{plan.local_rank(rank)}] -> "
                  f"{peer}[{plan.local_rank(peer)}] via P2P/CUMEM")
    nccl.info(attempt, rank, t + 0.16, "init", f"ncclCommInitRankConfig comm 0x{comm:x} rank {rank} nranks {plan.world} "
              f"cudaDev {plan.local_rank(rank)} nvmlDev {plan.local_rank(rank)} busId {plan.bus(rank)}000 commId "
              f"0x{identity:x} - Init COMPLETE")


def dump_arguments(attempt, t):
    """Rank 0 rightly prints more than the others."""
    attempt.raw(0, t, "start.arguments", "-" * 24 + " arguments " + "-" * 24, "stdout")
    for name in ARGUMENTS:
        value = attempt.rng.choice(["True", "None", "1024", "0.95", "cosine", "48"])
        attempt.raw(0, t, "start.argument:" + name, f"  {name} " + "." * (48 - len(name)) + f" {value}", "stdout")
    attempt.raw(0, t, "start.arguments_end", "-" * 20 + " end of arguments " + "-" * 21, "stdout")


def elastic_banner(attempt, host, t):
    plan = attempt.plan
    elastic.omp(lambda name, text: attempt.launcher(host, t, name, text), plan.clocks[host].local(t),
                plan.pids[host * plan.per_host] - 40)


__all__ = ["run", "begin", "names_device", "dump_arguments", "elastic_banner", "clocks"]
