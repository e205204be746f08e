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

BLOCK_BYTES = 1 << 20
"""How much of a journal is in memory at a time while it is read."""

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


class Reader:
    """The reading end: one journal, however badly it ended, in blocks of events and in bounded memory.

    `header` is known at once. `damage` tells what was lost in the blocks read so far; it is final when `blocks` is
    through. Raises JournalError only when the first readable line is not a header of a known schema.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._bad: list[int] = []
        self._count = 0
        self._last: AnyEvent | None = None
        self.header = self._open()

    @property
    def damage(self) -> Damage:
        """What was lost, as far as the file has been read."""
        missing = 0 if self._last is None else self._last.seq + 1 - self._count
        return Damage(self.path, tuple(self._bad), missing, isinstance(self._last, JournalClosed))

    def blocks(self) -> Iterator[list[AnyEvent]]:
        """All events from the header on, some thousands at a time. Each call reads the file anew."""
        self._bad.clear()
        self._count, self._last = 0, None
        for first_line, lines, data in _blocks(self.path):
            events = self._decode(first_line, lines, data)
            if events:
                self._count += len(events)
                self._last = events[-1]
                yield events

    def _open(self) -> Header:
        try:
            first = next((events[0] for events in self.blocks()), None)
        except OSError as error:
            raise JournalError(f"{self.path} cannot be read: {error.strerror}") from error
        if not isinstance(first, Header):
            raise JournalError(f"{self.path} does not begin with a journal header")
        if first.schema != SCHEMA_VERSION:
            raise JournalError(f"{self.path} has schema {first.schema}, this rig reads {SCHEMA_VERSION}")
        return first

    def _decode(self, first_line: int, lines: int, data: bytes) -> list[AnyEvent]:
        try:
            events = _decoder.decode_lines(data)
        except (msgspec.MsgspecError, RecursionError):
            pass
        else:
            # One value may span lines for a JSON reader; in a journal a line is an event.
            if len(events) == lines:
                return events
        events, bad = decode_each(data, first_line)
        self._bad += bad
        return events


def decode_each(data: bytes, first_line: int = 1) -> tuple[list[AnyEvent], list[int]]:
    """The events of whole lines, and the numbers of lines that hold none; an empty line is no damage."""
    events: list[AnyEvent] = []
    bad: list[int] = []
    for number, line in enumerate(data.split(b"\n"), start=first_line):
        if not line.strip():
            continue
        try:
            events.append(_decoder.decode(line))
        except (msgspec.MsgspecError, RecursionError):
            bad.append(number)
    return events, bad


def read(path: Path) -> tuple[list[AnyEvent], Damage]:
    """All of one journal at once, for those that are small. Raises JournalError as `Reader` does."""
    reader = Reader(path)
    events = [event for block in reader.blocks() for event in block]
    return events, reader.damage


def _blocks(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """The file in pieces of whole lines, each with the number of its first line and how many line ends it has."""
    number = 1
    with path.open("rb") as file:
        while data := file.read(BLOCK_BYTES):
            data += file.readline()
            lines = data.count(b"\n")
            yield number, lines, data
            number += lines
