"""Journals on disk: one JSON line an event, one append-only file a producer.

A journal survives its writer: every event is one write to the file, so a killed process loses nothing it had
recorded, and at worst the last line is torn. A full disk never stops the producer: what could not be written is counted
and told in the next line that fits, and the gap in `seq` shows it too.
"""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

from rig.clock import boot_id, monotonic_ns, wall_ns
from rig.errors import JournalError
from rig.events.types import SCHEMA_VERSION, AnyEvent, Event, Header, JournalClosed

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


class Recorder(Protocol):
    """What a producer needs of a journal."""

    def record(self, kind: type[Event], *, t_ns: int | None = None, **fields: Any) -> None:
        """Append one event; see `Journal.record`."""


class Journal:
    """The writing end. Safe to use from several threads or greenlets of one process."""

    def __init__(self, directory: Path, producer: str, role: str) -> None:
        self.path = directory / f"{producer}.jsonl"
        try:
            self._fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except FileExistsError as error:
            raise JournalError(f"{self.path} exists already; a journal is never overwritten") from error
        except OSError as error:
            raise JournalError(f"cannot create {self.path}: {error.strerror}") from error
        self._lock = threading.Lock()
        self._seq = 0
        self._torn = False
        self.dropped = 0
        self.record(
            Header,
            schema=SCHEMA_VERSION,
            producer=producer,
            role=role,
            host=socket.gethostname(),
            boot_id=boot_id(),
            pid=os.getpid(),
            wall_ns=wall_ns(),
        )

    def record(self, kind: type[Event], *, t_ns: int | None = None, **fields: Any) -> None:
        """Append one event. `t_ns` defaults to now; the sequence number is given here.

        Never raises for a full or failing disk: `dropped` counts what was lost.
        """
        with self._lock:
            self._record(kind, monotonic_ns() if t_ns is None else t_ns, fields)

    def close(self) -> None:
        """End the journal in order. Calling it twice is harmless."""
        with self._lock:
            if self._fd < 0:
                return
            self._record(JournalClosed, monotonic_ns(), {"dropped": self.dropped})
            os.close(self._fd)
            self._fd = -1

    def _record(self, kind: type[Event], t_ns: int, fields: dict[str, Any]) -> None:
        line = _encoder.encode(kind(seq=self._seq, t_ns=t_ns, **fields)) + b"\n"
        self._seq += 1
        self._append(line)

    def _append(self, line: bytes) -> None:
        if self._fd < 0:
            self.dropped += 1
            return
        # A line cut short by a full disk must not swallow the next one.
        data = b"\n" + line if self._torn else line
        try:
            written = os.write(self._fd, data)
        except OSError:
            self.dropped += 1
            return
        self._torn = written < len(data)
        if self._torn:
            self.dropped += 1


class Damage(msgspec.Struct, frozen=True):
    """What a journal lost: lines that do not parse, gaps in the sequence, and whether its writer ended in order."""

    path: Path
    bad_lines: tuple[int, ...]
    missing: int
    closed: bool


def read(path: Path) -> tuple[list[AnyEvent], Damage]:
    """Read one journal, however badly it ended.

    Raises JournalError only when its first readable line is not a header of a known schema.
    """
    events: list[AnyEvent] = []
    bad: list[int] = []
    for number, line in _lines(path):
        try:
            events.append(_decoder.decode(line))
        except (msgspec.MsgspecError, RecursionError):
            bad.append(number)
    if not events or not isinstance(events[0], Header):
        raise JournalError(f"{path} does not begin with a journal header")
    if events[0].schema != SCHEMA_VERSION:
        raise JournalError(f"{path} has schema {events[0].schema}, this rig reads {SCHEMA_VERSION}")
    closed = isinstance(events[-1], JournalClosed)
    missing = events[-1].seq + 1 - len(events)
    return events, Damage(path, tuple(bad), missing, closed)


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield number, line
