#!/usr/bin/env python3
"""A small SPMD job for the quickstart: plain Python, real processes, a real barrier every iteration.

One launcher starts WORLD ranks, each with its own stdout and stderr file (as `srun -o out-%t.log
-e err-%t.log` would). The ranks exchange a value over TCP in every iteration, so that none can be
more than one iteration ahead. One rank meets a bad sample and dies with a traceback; its peers then
see the connection close, which is what an operator finds hundreds of in a real log.

    sample_job.py --out DIR [--world 4] [--fail-rank 2] [--seconds 15]
"""
import argparse
import logging
import os
import random
import socket
import struct
import subprocess
import sys
import time
import warnings

PACE = 0.1  # seconds per iteration


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--out", required=True, help="directory of the log files")
    p.add_argument("--world", type=int, default=4)
    p.add_argument("--fail-rank", type=int, default=2)
    p.add_argument("--seconds", type=float, default=15.0, help="until the failure")
    p.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return p.parse_args()


class Ring:
    """All-reduce of one float over TCP: rank 0 adds up and answers; a barrier as a side effect."""

    def __init__(self, rank, world, port):
        self.rank, self.peers = rank, []
        if rank == 0:
            server = socket.socket(fileno=int(os.environ["SAMPLE_LISTEN_FD"]))
            for _ in range(world - 1):
                connection, _ = server.accept()
                peer = struct.unpack("!i", self.read(connection, 4))[0]
                self.peers.append((peer, connection))
        else:
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(struct.pack("!i", rank))
            self.peers.append((0, connection))

    @staticmethod
    def read(connection, size):
        data = b""
        while len(data) < size:
            piece = connection.recv(size - len(data))
            if not piece:
                raise ConnectionResetError("Connection closed by peer")
            data += piece
        return data

    def all_reduce(self, value):
        try:
            if self.rank == 0:
                total = value + sum(struct.unpack("!d", self.read(c, 8))[0] for _, c in self.peers)
                for _, connection in self.peers:
                    connection.sendall(struct.pack("!d", total))
                return total
            connection = self.peers[0][1]
            connection.sendall(struct.pack("!d", value))
            return struct.unpack("!d", self.read(connection, 8))[0]
        except OSError as problem:
            raise ConnectionResetError(
                f"[rank {self.rank}] all_reduce failed: Connection closed by peer [127.0.0.1]"
            ) from problem


def load_batch(rank, iteration, fail_at):
    if iteration >= fail_at:
        raise ValueError(f"bad sample in shard {rank}: expected 64 features, found 63")
    return [random.gauss(0.0, 1.0) for _ in range(64)]


def glog(severity, place, text):
    """The header of a C++ library in the same process."""
    now = time.time()
    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(now)) + ".%06d" % int(now % 1 * 1e6)
    print(f"{severity}{stamp} {os.getpid()} {place}] {text}", file=sys.stderr, flush=True)


def noise(rank, iteration):
    if iteration == 3:
        warnings.warn("The given buffer is not writable, and tensors made from it will share it.")
    if iteration % 37 == 0:
        logging.getLogger("urllib3.connectionpool").warning(
            "Connection pool is full, discarding connection: data-%02d. Connection pool size: 10", rank)
    if iteration % 20 == 0:
        print(f"[rank{rank}]: prefetched {random.randint(8, 16)} batches, "
              f"cache hit rate {random.uniform(0.9, 1.0):.3f}", flush=True)


def bar(iteration, total):
    done = 20 * iteration // total
    print(f"train: {100 * iteration // total:3d}%|{'#' * done}{' ' * (20 - done)}| "
          f"{iteration}/{total} [{iteration * PACE:.1f}s, {1 / PACE:.2f}it/s]\r",
          end="", file=sys.stderr, flush=True)


def worker(args):
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    logging.basicConfig(level=logging.INFO,
                        format="%(asctime)s %(levelname)s %(filename)s:%(lineno)d] %(message)s")
    log = logging.getLogger("trainer")
    random.seed(rank)
    ring = Ring(rank, world, int(os.environ["MASTER_PORT"]))
    log.info("rank %d of %d ready, pid %d", rank, world, os.getpid())
    fail_at = int(args.seconds / PACE) if rank == args.fail_rank else 1 << 60
    total = int(2 * args.seconds / PACE)
    for iteration in range(total):
        began = time.monotonic()
        batch = load_batch(rank, iteration, fail_at)
        noise(rank, iteration)
        loss = ring.all_reduce(2.0 + 8.0 / (1 + iteration * 0.05) + batch[0] * 0.01) / world
        norm = abs(sum(batch)) / 8
        took = (time.monotonic() - began) * 1000
        if iteration % 5 == 0:
            log.info("iteration %d | loss %.4f | grad_norm %.4f | lr 1.0e-02 | %.1f ms",
                     iteration, loss, norm, took)
            print(f"step={iteration} loss={loss:.6f} grad_norm={norm:.6f}", flush=True)
            glog("I", "allreduce.cc:412",
                 f"Finished all_reduce bucket {iteration % 48} size 409600 bytes in {took:.3f} ms")
        if rank == 0:
            bar(iteration, total)
        time.sleep(max(0.0, PACE - (time.monotonic() - began)))
    log.info("done")


def launch(args):
    os.makedirs(args.out, exist_ok=True)
    server = socket.create_server(("127.0.0.1", 0))
    server.listen(args.world)
    job = os.environ.get("JOB", "sample")
    children = []
    for rank in range(args.world):
        env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), GROUP_RANK="0",
                   WORLD_SIZE=str(args.world), LOCAL_WORLD_SIZE=str(args.world),
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=str(server.getsockname()[1]),
                   TORCHELASTIC_RUN_ID=job, TORCHELASTIC_RESTART_COUNT="0",
                   SAMPLE_LISTEN_FD=str(server.fileno()))
        with open(f"{args.out}/out-{rank}.log", "wb") as out, \
                open(f"{args.out}/err-{rank}.log", "wb") as err:
            children.append(subprocess.Popen(
                [sys.executable, "-u", os.path.abspath(__file__), "--worker"] + sys.argv[1:],
                stdout=out, stderr=err, env=env, pass_fds=[server.fileno()] if rank == 0 else []))
    server.close()
    try:
        return max(abs(child.wait()) for child in children)
    except KeyboardInterrupt:
        for child in children:
            child.terminate()
        return 130


if __name__ == "__main__":
    arguments = parse()
    sys.exit(worker(arguments) if arguments.worker else launch(arguments))
