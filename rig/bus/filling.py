"""The end of collecting: what the bus did not bring is taken from the spools on this host; whole copies replace them.

A spool is removed only when its writer ended in order and the copy beside it is the same, byte for byte, and on disk.
"""

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from rig.bus.wire import spool_id
from rig.events.bus import EventsFilled, ProducerIncomplete
from rig.events.journal import Recorder

CHUNK_BYTES = 1 << 20
CLOSED_MARK = b'"type":"journal_closed"'


class _NotWrittenError(Exception):
    """The results folder takes no more."""


@dataclass(frozen=True)
class Remote:
    """A producer whose spool is not on this host, and what is known of it; `why` is None when all of it is here."""

    producer: str
    role: str
    spool: str
    why: str | None


def fill(events: Path, spools: Path, remotes: list[Remote], journal: Recorder) -> None:
    """Complete every collected journal that can be completed; record what was filled and what stays incomplete."""
    local = set(spools_here(spools))
    for spool in sorted(spools.glob("*.jsonl")):
        try:
            problem = _fill_one(events / spool.name, spool, journal)
        except OSError as error:
            problem = f"{spool.name} could not be read: {error.strerror}"
        if problem is not None:
            journal.record(ProducerIncomplete, producer=spool.stem, role="", why=problem)
    for remote in remotes:
        if remote.spool not in local and remote.why is not None:
            journal.record(ProducerIncomplete, producer=remote.producer, role=remote.role, why=remote.why)
    if spools.is_dir() and not any(spools.iterdir()):
        spools.rmdir()


def spools_here(spools: Path) -> set[str]:
    """Identities of the readable journals in a spool folder."""
    found = set()
    for path in spools.glob("*.jsonl"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            found.add(spool_id(file.readline()))
    return found


def _fill_one(collected: Path, spool: Path, journal: Recorder) -> str | None:
    """Bring the copy up to the spool; why that cannot be. Raises OSError when the spool cannot be read."""
    if not collected.exists():
        collected.touch()
    if not _begins_alike(collected, spool):
        return f"{spool.name} differs from what the bus brought; both are kept"
    try:
        events, size = _append_rest(collected, spool)
    except _NotWrittenError:
        return None  # the history reads the spool too: nothing is lost as long as it stays
    if size:
        journal.record(EventsFilled, producer=spool.stem, events=events, size_bytes=size)
    if _closed(spool) and _same(collected, spool):
        spool.unlink()
    return None


def _begins_alike(collected: Path, spool: Path) -> bool:
    with collected.open("rb") as copy, spool.open("rb") as original:
        while chunk := copy.read(CHUNK_BYTES):
            if original.read(len(chunk)) != chunk:
                return False
    return True


def _append_rest(collected: Path, spool: Path) -> tuple[int, int]:
    """Append what the copy lacks and sync it; lines and bytes that were lacking. Raises _NotWrittenError."""
    lines = size = 0
    copy = os.open(collected, os.O_WRONLY | os.O_APPEND)
    try:
        with spool.open("rb") as original:
            original.seek(os.fstat(copy).st_size)
            while chunk := original.read(CHUNK_BYTES):
                _write(copy, chunk)
                lines += chunk.count(b"\n")
                size += len(chunk)
        _sync(copy)
    finally:
        os.close(copy)
    folder = os.open(collected.parent, os.O_RDONLY)
    try:
        _sync(folder)
    finally:
        os.close(folder)
    return lines, size


def _write(file: int, data: bytes) -> None:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(file, rest) :]
    except OSError as error:
        raise _NotWrittenError from error


def _sync(file: int) -> None:
    try:
        os.fsync(file)
    except OSError as error:
        raise _NotWrittenError from error


def _same(collected: Path, spool: Path) -> bool:
    return collected.stat().st_size == spool.stat().st_size and _begins_alike(collected, spool)


def _closed(spool: Path) -> bool:
    with spool.open("rb") as file:
        file.seek(max(0, spool.stat().st_size - CHUNK_BYTES))
        last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    return CLOSED_MARK in last
