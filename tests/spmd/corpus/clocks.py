"""Hosts' clocks, and how a time is written.

True time is seconds since the epoch. A host's clock is off by a constant and a drift, and its
programs print local time. Files' modification times are true: a file server keeps them.
"""
import time
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Clock:
    offset: float  # seconds ahead of true time at `since`
    drift: float   # seconds per second
    since: float
    zone: float    # seconds east of UTC

    def error(self, t):
        return self.offset + self.drift * (t - self.since)

    def local(self, t):
        return t + self.error(t) + self.zone

    def utc(self, t):
        return t + self.error(t)


@lru_cache(maxsize=4096)
def _second(second):
    return time.gmtime(second)


def split(t):
    """(struct_time, nanoseconds)"""
    second = int(t // 1)
    return _second(second), min(999_999_999, int((t - second) * 1e9))


def iso(t, mark=" ", sep=",", digits=3):
    """2026-03-04 05:06:07,448"""
    at, nanos = split(t)
    text = (f"{at.tm_year:04d}-{at.tm_mon:02d}-{at.tm_mday:02d}{mark}"
            f"{at.tm_hour:02d}:{at.tm_min:02d}:{at.tm_sec:02d}")
    return text if not digits else text + sep + f"{nanos:09d}"[:digits]


def glog(t, digits=6):
    """0304 05:06:07.448120"""
    at, nanos = split(t)
    return (f"{at.tm_mon:02d}{at.tm_mday:02d} {at.tm_hour:02d}:{at.tm_min:02d}:{at.tm_sec:02d}."
            f"{f'{nanos:09d}'[:digits]}")


def c10(t):
    """304 05:06:07.448120903: the month without a zero in front"""
    at, nanos = split(t)
    return (f"{at.tm_mon}{at.tm_mday:02d} {at.tm_hour:02d}:{at.tm_min:02d}:{at.tm_sec:02d}."
            f"{nanos:09d}")


def syslog(t):
    """Mar  4 05:06:07"""
    at, _ = split(t)
    return time.strftime("%b ", at) + f"{at.tm_mday:2d} " + time.strftime("%H:%M:%S", at)


def ctime(t):
    """Wed Mar  4 05:06:07 2026"""
    return time.asctime(split(t)[0])
