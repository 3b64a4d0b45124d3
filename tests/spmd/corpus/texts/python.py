"""Python's tracebacks. From PyTorch 2.2 on the hook of an initialised process group puts `[rankN]: `
in front of each line."""

SCRIPT = "/srv/exp/{name}/train.py"
SITE = "/srv/venv/lib/python3.12/site-packages/"
# (file, line, function, source)
TRAIN = [("train.py", 603, "<module>", "main()"), ("train.py", 571, "main", "trainer.fit(state)"),
         ("trainer/loop.py", 142, "fit", "self.train_step(batch)")]


def path_of(job, file):
    root = SITE if file.startswith(("torch/", "transformers/", "megatron/", "apex/")) else f"/srv/exp/{job.plan.name}/"
    return root + file


def hook(job, ready=True):
    return ready and job.plan.torch != "2.1" and job.plan.backend == "nccl"


def traceback(attempt, rank, t, frames, error, message, statement=None, ready=True, note=None):
    """Prints a traceback on the rank's stderr; `note` is text that follows the message."""
    prefix = f"[rank{rank}]: " if hook(attempt.job, ready) else ""

    def raw(name, text):
        attempt.raw(rank, t, name, prefix + text)

    raw("python.traceback", "Traceback (most recent call last):")
    for file, line, function, source in frames:
        raw("python.frame", f'  File "{path_of(attempt.job, file)}", line {line}, in {function}')
        raw("python.source:" + source, "    " + source)
    raw(statement or f"python.{error}", f"{error}: {message}" if message else error)
    for line in (note or "").splitlines():
        raw("python.note:" + line[:12], line)


def peer_lost(attempt, rank, t, peer_host, closed="Connection closed by remote peer"):
    """What a rank says when the other end of its collective is gone."""
    plan = attempt.job.plan
    if plan.backend == "gloo":
        traceback(attempt, rank, t, TRAIN + [("torch/autograd/graph.py", 825, "_engine_run_backward",
                                              "return Variable._execution_engine.run_backward(")],
                  "RuntimeError", "[../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
                  f"[{plan.address(peer_host)}]:{attempt.job.rng.randint(20000, 60000)}", "gloo.closed")
        return
    version = {"2.1": "2.18.1", "2.5": "2.21.5", "2.6": "2.21.5", "2.8": "2.27.3"}[plan.torch]
    traceback(attempt, rank, t, TRAIN + [("torch/distributed/distributed_c10d.py", 2806, "all_reduce",
                                          "work = group.allreduce([tensor], opts)")],
              "torch.distributed.DistBackendError", "NCCL error in: "
              "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2275, remote process exited or there was a network "
              f"error, NCCL version {version}", "nccl.remote_error",
              note="ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
                   "prematurely.\nLast error:\nsocketProgress: " +
                   f"{closed} {plan.hosts[peer_host]}<{attempt.job.rng.randint(20000, 60000)}>")
