"""One clock: CLOCK_MONOTONIC in integer nanoseconds.

It is shared by every process of one host and one boot, so stamps of callers, watchers and the rig can be
compared. The wall clock only labels; no duration is ever taken from it.
"""

import time
from datetime import UTC, datetime
from pathlib import Path

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000


def monotonic_ns() -> int:
    """Nanoseconds on the host's monotonic clock."""
    return time.monotonic_ns()


def wall_ns() -> int:
    """Nanoseconds since the Unix epoch, for labels only."""
    return time.time_ns()


def from_s(seconds: float) -> int:
    """Convert seconds to integer nanoseconds."""
    return round(seconds * NS_PER_S)


def to_s(ns: int) -> float:
    """Convert nanoseconds to seconds."""
    return ns / NS_PER_S


def to_ms(ns: int) -> float:
    """Convert nanoseconds to milliseconds."""
    return ns / NS_PER_MS


def boot_id() -> str:
    """Identity of this boot: monotonic stamps compare only within one."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def utc_label(epoch_ns: int) -> str:
    """A wall-clock label such as 2026-01-31T12:00:00Z."""
    return datetime.fromtimestamp(epoch_ns // NS_PER_S, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
