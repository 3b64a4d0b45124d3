"""How programs print: a header for any message, and the message of an iteration.

A style is (resolution in seconds or None without a stamp, header, iteration). The shapes are those
of tests/data/formats.jsonl.
"""
from dataclasses import dataclass
from typing import Callable, Optional

from . import clocks


@dataclass(frozen=True)
class Said:
    """One message before its header."""
    rank: int
    local: float   # the host's local time
    level: str     # DEBUG INFO WARNING ERROR CRITICAL
    site: tuple    # file, line, function
    text: str
    pid: int


@dataclass(frozen=True)
class Style:
    resolution: Optional[float]
    header: Callable
    iteration: Callable  # (k, plan, values) -> text
    site: tuple          # of the iteration line
    stream: str = "stderr"
    headless: bool = False  # iteration lines carry their own stamp or none


def number(value, form):
    """nan and inf as Python prints them."""
    return format(value, form)


def _pairs(v, sep, join, names):
    return join.join(f"{name}{sep}{form(v[key])}" for key, name, form in names if v.get(key) is not None)


def plain(s):
    return f"{clocks.iso(s.local)} {s.level} {s.site[0]}:{s.site[1]}] {s.text}"


def plain_iteration(k, plan, v):
    loss = "" if v.get("loss") is None else f"loss {number(v['loss'], '.4f')} | "
    return (f"iteration {k} | {loss}grad_norm {number(v['grad_norm'], '.4f')} | "
            f"lr {v['lr']:.1e} | {v['step_ms']:.1f} ms")


def dash(s):
    return f"{clocks.iso(s.local)} - trainer.{s.site[0][:-3]} - {s.level} - {s.text}"


def dash_iteration(k, plan, v):
    return f"step={k} " + _pairs(v, "=", " ", [
        ("loss", "loss", lambda x: number(x, ".5f")), ("grad_norm", "grad_norm", lambda x: number(x, ".4f")),
        ("lr", "lr", lambda x: f"{x:.3e}"), ("tokens", "tokens_per_s", lambda x: f"{x:.1f}")])


def megatron(s):
    return s.text if s.level == "INFO" else f"{s.level}:{s.site[0][:-3]}:{s.text}"


def megatron_iteration(k, plan, v):
    loss = "" if v.get("loss") is None else f"lm loss: {number(v['loss'], '.6E')} | "
    bad = int(v.get("loss") is not None and v["loss"] != v["loss"])
    return (f" [{clocks.iso(v['local'], sep='.', digits=6)}] iteration {k:8d}/{plan.first + plan.iterations * 10:8d} | "
            f"consumed samples: {k * 256:12d} | elapsed time per iteration (ms): {v['step_ms']:.1f} | "
            f"learning rate: {v['lr']:.6E} | global batch size: {256:5d} | {loss}loss scale: 1.0 | "
            f"grad norm: {number(v['grad_norm'], '.3f')} | number of skipped iterations: {0:3d} | "
            f"number of nan iterations: {bad:3d} |")


def deepspeed(s):
    return (f"[{clocks.iso(s.local)}] [{s.level}] [{s.site[0]}:{s.site[1]}:{s.site[2]}] "
            f"[Rank {s.rank}] {s.text}")


def deepspeed_iteration(k, plan, v):
    return f"step={k}, skipped=0, lr=[{v['lr']:.6e}], mom=[[0.9, 0.95]], " + _pairs(v, "=", ", ", [
        ("loss", "loss", lambda x: number(x, ".4f")), ("grad_norm", "grad_norm", lambda x: number(x, ".4f"))])


def hf(s):
    return f"[{s.level}|{s.site[0]}:{s.site[1]}] {clocks.iso(s.local)} >> {s.text}"


def hf_iteration(k, plan, v):
    values = {}
    if v.get("loss") is not None:
        values["loss"] = round(v["loss"], 4)
    values.update(grad_norm=round(v["grad_norm"], 4), learning_rate=v["lr"],
                  epoch=round(k / 5000, 2), step=k)
    return str(values)


def loguru(s):
    return (f"{clocks.iso(s.local, sep='.')} | {s.level:<8} | train.{s.site[0][:-3]}:{s.site[2]}:"
            f"{s.site[1]} - {s.text}")


def loguru_iteration(k, plan, v):
    return f"step {k} | " + _pairs(v, " ", " | ", [
        ("loss", "loss", lambda x: number(x, ".4f")), ("grad_norm", "grad_norm", lambda x: number(x, ".3f")),
        ("tokens", "tok/s", lambda x: f"{x:.0f}")])


def nemo(s):
    return f"[NeMo {s.level[0]} {clocks.iso(s.local, digits=0)} {s.site[0][:-3]}:{s.site[1]}] {s.text}"


def nemo_iteration(k, plan, v):
    return f"global_step: {k} - " + _pairs(v, ": ", " - ", [
        ("loss", "reduced_train_loss", lambda x: number(x, ".4f")),
        ("grad_norm", "grad_norm", lambda x: number(x, ".4f")),
        ("step_ms", "train_step_timing in ms", lambda x: f"{x:.1f}")])


def titan(s):
    return f"[rank{s.rank}]:[titan] {clocks.iso(s.local)} - root - {s.level} - {s.text}"


def titan_iteration(k, plan, v):
    loss = "" if v.get("loss") is None else f"\x1b[32mloss: {number(v['loss'], '7.4f')}  "
    return (f"\x1b[31mstep: {k:2d}  {loss}\x1b[38;2;180;60;0mgrad_norm: {number(v['grad_norm'], '7.4f')}  "
            f"\x1b[38;2;54;234;195mmemory: {v['memory']:5.2f}GiB({v['memory'] / 0.95:.2f}%)  "
            f"\x1b[34mtps: {v['tokens']:,.0f}\x1b[39m")


def absl(s):
    return f"{s.level[0]}{clocks.glog(s.local)} {139872345678592 + s.pid * 4096} {s.site[0]}:{s.site[1]}] {s.text}"


def absl_iteration(k, plan, v):
    return f"step {k} " + _pairs(v, " ", " ", [
        ("loss", "loss", lambda x: number(x, ".4f")), ("grad_norm", "grad_norm", lambda x: number(x, ".4f")),
        ("step_ms", "step_ms", lambda x: f"{x:.1f}")])


def seconds(s):
    return f"{clocks.iso(s.local, digits=0)} {s.level:<7} [{s.site[0][:-3]}] {s.text}"


def seconds_iteration(k, plan, v):
    return f"iter: {k}  " + _pairs(v, ": ", "  ", [
        ("loss", "loss", lambda x: number(x, ".4f")), ("grad_norm", "grad_norm", lambda x: number(x, ".4f")),
        ("lr", "lr", lambda x: f"{x:.4e}"), ("memory", "max_mem", lambda x: f"{x * 1024:.0f}M")])


def bare(s):
    return s.text if s.level == "INFO" else f"{s.level}: {s.text}"


def bare_iteration(k, plan, v):
    return f"step={k} " + _pairs(v, "=", " ", [
        ("loss", "loss", lambda x: number(x, ".6f")), ("grad_norm", "grad_norm", lambda x: number(x, ".6f"))])


STYLES = {
    "plain": Style(1e-3, plain, plain_iteration, ("train.py", 211, "train_step")),
    "dash": Style(1e-3, dash, dash_iteration, ("loop.py", 96, "run")),
    "megatron": Style(1e-6, megatron, megatron_iteration, ("training.py", 1402, "training_log"),
                      "stdout", headless=True),
    "deepspeed": Style(1e-3, deepspeed, deepspeed_iteration, ("logging.py", 107, "log_dist")),
    "hf": Style(1e-3, hf, hf_iteration, ("trainer.py", 2314, "log"), "stdout", headless=True),
    "loguru": Style(1e-3, loguru, loguru_iteration, ("loop.py", 88, "run_epoch")),
    "nemo": Style(1.0, nemo, nemo_iteration, ("progress.py", 211, "log")),
    "titan": Style(1e-3, titan, titan_iteration, ("metrics.py", 380, "log"), "stdout"),
    "absl": Style(1e-6, absl, absl_iteration, ("train.py", 233, "main")),
    "seconds": Style(1.0, seconds, seconds_iteration, ("runner.py", 57, "after_step"), "stdout"),
    "bare": Style(None, bare, bare_iteration, ("train.py", 60, "main"), "stdout", headless=True),
}
