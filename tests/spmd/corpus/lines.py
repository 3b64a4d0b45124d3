"""What was printed, by whom and when, before it is laid out in files."""
from dataclasses import dataclass


@dataclass
class Line:
    time: float      # true
    seq: int         # order among equal times
    attempt: int
    owner: tuple     # ("rank", 3), ("host", 0) for its kernel, ("launcher", 0 or None)
    stream: str      # stdout, stderr, kernel, launcher
    statement: str   # which statement of the program printed it: the truth for grouping
    text: str


class Book:
    def __init__(self):
        self.lines = []
        self.ends = {}  # (attempt, owner) -> time of the last thing it could print

    def add(self, time, attempt, owner, stream, statement, text):
        self.lines.append(Line(time, len(self.lines), attempt, owner, stream, statement, text))

    def cut(self, attempt, owner, time):
        """Nothing of `owner` after `time`: it was killed, or the files were copied then."""
        key = (attempt, owner)
        self.ends[key] = min(time, self.ends.get(key, time))

    def printed(self):
        """The lines that reached a file, by true time."""
        kept = [l for l in self.lines if l.time <= self.ends.get((l.attempt, l.owner), l.time)]
        kept.sort(key=lambda l: (l.time, l.seq))
        return kept
