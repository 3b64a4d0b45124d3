"""Random numbers by name: each part of a job draws from its own stream, so that a change in one part
leaves the others as they were. Seeding with a string is the same on every Python since 3.2."""
import random


def dice(*names):
    return random.Random("/".join(str(n) for n in names))


def weighted(rng, table):
    """One key of {key: weight}."""
    return rng.choices(list(table), weights=list(table.values()))[0]
