"""One producer's journal in several copies: as the bus brought it and as it lies in the producer's spool."""

import heapq
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path

from rig.errors import JournalError
from rig.events.journal import Damage, Reader
from rig.events.types import AnyEvent, Header

BLOCK_EVENTS = 10_000

_seq = attrgetter("seq")


class UnionReader:
    """Reads copies of one journal as one, by sequence number: what is whole in one copy is not damaged.

    Behaves as `Reader` does. Raises JournalError when the copies are of different writers.
    """

    def __init__(self, readers: Sequence[Reader]) -> None:
        self._readers = readers
        self._count = 0
        self._last: AnyEvent | None = None
        if len({reader.header for reader in readers}) > 1:
            paths = " and ".join(str(reader.path) for reader in readers)
            raise JournalError(f"{paths} are journals of different writers")

    @property
    def header(self) -> Header:
        """The first event of every copy."""
        return self._readers[0].header

    @property
    def damage(self) -> Damage:
        """What was lost of all copies, as far as they have been read."""
        each = [reader.damage for reader in self._readers]
        best = min(each, key=lambda damage: len(damage.bad_lines))
        missing = 0 if self._last is None else self._last.seq + 1 - self._count
        return Damage(best.path, best.bad_lines, missing, any(damage.closed for damage in each))

    def blocks(self) -> Iterator[list[AnyEvent]]:
        """Every event once, from the header on. Each call reads the files anew."""
        self._count, self._last = 0, None
        block: list[AnyEvent] = []
        flat = [(event for events in reader.blocks() for event in events) for reader in self._readers]
        for event in heapq.merge(*flat, key=_seq):
            if self._last is not None and event.seq == self._last.seq:
                continue
            self._count, self._last = self._count + 1, event
            block.append(event)
            if len(block) == BLOCK_EVENTS:
                yield block
                block = []
        if block:
            yield block


AnyReader = Reader | UnionReader


def open_copies(paths: Sequence[Path]) -> AnyReader:
    """A reader of one or more copies of a journal. Raises JournalError when no copy is a journal."""
    readers: list[Reader] = []
    errors: list[JournalError] = []
    for path in paths:
        try:
            readers.append(Reader(path))
        except JournalError as error:
            errors.append(error)
    if not readers:
        raise errors[0]
    return readers[0] if len(readers) == 1 else UnionReader(readers)
