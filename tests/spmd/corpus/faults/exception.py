"""One rank raises; the others lose their peer, are stopped, or wait."""
from .. import cascade
from ..texts import python
from .base import Fault

ERRORS = [
    ("RuntimeError", "bad sample in shard {s}: expected 64 features, found 63", ("data/collate.py", 61, "collate", "raise RuntimeError(text)")),
    ("ValueError", "Expected input batch_size (8) to match target batch_size (7).", ("torch/nn/functional.py", 3479, "cross_entropy", "return torch._C._nn.cross_entropy_loss(")),
    ("KeyError", "'input_ids'", ("data/collate.py", 44, "<dictcomp>", "ids = [s['input_ids'] for s in batch]")),
    ("IndexError", "list index out of range", ("data/shards.py", 118, "__getitem__", "return self.offsets[i + 1]")),
    ("RuntimeError", "The size of tensor a (4096) must match the size of tensor b (4095) at non-singleton dimension 1", ("model/attention.py", 203, "forward", "scores = scores + mask")),
    ("json.decoder.JSONDecodeError", "Expecting ',' delimiter: line 1 column {n} (char {m})", ("data/jsonl.py", 31, "parse", "return json.loads(line)")),
    ("FileNotFoundError", "[Errno 2] No such file or directory: '/data/tokens/shard_{s:05d}.bin'", ("data/shards.py", 71, "open", "return np.memmap(path, mode='r')")),
    ("UnicodeDecodeError", "'utf-8' codec can't decode byte 0xe0 in position {n}: invalid continuation byte", ("data/jsonl.py", 27, "lines", "text = raw.decode('utf-8')")),
    ("AssertionError", "", ("data/packing.py", 90, "pack", "assert len(tokens) <= self.length")),
    ("ZeroDivisionError", "division by zero", ("trainer/metrics.py", 55, "rate", "return tokens / elapsed")),
]


class RankRaises(Fault):
    kinds = ("exception",)

    def strike(self, attempt, k):
        error, message, frame = self.rng.choice(ERRORS)
        message = message.format(s=self.rank, n=self.rng.randrange(100, 9999), m=self.rng.randrange(100, 9999))
        arrivals = attempt.enter(k, without=(self.rank,))
        self.time = t = min(arrivals[self.rank], attempt.barrier + self.plan.step * self.rng.uniform(0.05, 0.8))
        if self.rng.random() < 0.3:
            attempt.say(self.rank, t - 0.001, "train.step_failed", "ERROR", f"step {k} failed: {error}",
                        ("loop.py", 150, "fit"))
        python.traceback(attempt, self.rank, t, python.TRAIN + [frame], error, message)
        attempt.failed(self.rank, t, error)
        end = t + self.rng.uniform(0.2, 1.5)
        attempt.exit(self.rank, end, 1)
        cascade.after_death(attempt, end, [self.rank], k)
        return True


LABELS = {"exception": RankRaises}
