"""Parallel layouts: which ranks do the same work, and which rightly print other lines.

Megatron's order: tensor fastest, then data, then pipeline.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    tensor: int
    data: int
    pipeline: int

    @property
    def world(self):
        return self.tensor * self.data * self.pipeline

    def stage(self, rank):
        return rank // (self.tensor * self.data)

    def data_rank(self, rank):
        return rank // self.tensor % self.data

    def tensor_rank(self, rank):
        return rank % self.tensor

    def has_loss(self, rank):
        """The last stage computes the loss."""
        return self.stage(rank) == self.pipeline - 1

    def writes_checkpoint(self, rank):
        """One of each shard: the replicas have the same bytes."""
        return self.data_rank(rank) == 0

    def text(self):
        return f"tp={self.tensor} dp={self.data} pp={self.pipeline}"


def draw(rng, world, per_host):
    """Half of the jobs are data parallel alone; tensor groups stay within a host."""
    if rng.random() < 0.5:
        return Layout(1, world, 1)
    tensor = rng.choice([n for n in (1, 2, 4, 8) if n <= per_host and world % n == 0])
    rest = world // tensor
    pipeline = rng.choice([n for n in (1, 2, 4, 8) if n <= rest and rest % n == 0])
    return Layout(tensor, rest // pipeline, pipeline)
