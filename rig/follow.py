"""Journals that still grow, read once for everybody who looks on: the live view and the metrics."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from rig.events.journal import BLOCK_BYTES, decode_each
from rig.events.types import AnyEvent

Answer = TypeVar("Answer")


class Taker(Protocol):
    """Somebody who is shown every event once."""

    def take(self, producer: str, events: Sequence[AnyEvent]) -> None:
        """Take in the next events of a producer, in the order of its journal; never none."""


@dataclass
class _Place:
    """How far one journal has been read."""

    offset: int = 0
    next_seq: int = 0


class Follow:
    """Follows a folder of journals. Threads may ask at any time; takers are shown events by one at a time."""

    def __init__(self, events_dir: Path, takers: Sequence[Taker]) -> None:
        self.missing = 0
        """Events that are lost, or late, as the numbers of what came show."""
        self.damaged = 0
        """Lines that could not be read."""
        self._events_dir = events_dir
        self._takers = takers
        self._places: dict[Path, _Place] = {}
        self._lock = threading.Lock()

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """Read what the producers have written since the last time, then ask; nobody takes anything meanwhile.

        Raises OSError for a journal that cannot be read: who looks on would be shown too little.
        """
        with self._lock:
            for path in sorted(self._events_dir.glob("*.jsonl")):
                for events in self._read(path):
                    for taker in self._takers:
                        taker.take(path.stem, events)
            return question()

    def _read(self, path: Path) -> Iterator[list[AnyEvent]]:
        place = self._places.setdefault(path, _Place())
        with path.open("rb") as file:
            file.seek(place.offset)
            while data := file.read(BLOCK_BYTES):
                data += file.readline()
                whole = data.rfind(b"\n") + 1
                place.offset += whole
                events = self._decode(data[:whole], place)
                if events:
                    yield events
                if whole < len(data):
                    return  # A line that is still being written is left for the next time, from its beginning.

    def _decode(self, data: bytes, place: _Place) -> list[AnyEvent]:
        events, bad = decode_each(data)
        self.damaged += len(bad)  # the judgement tells which; a look at a run need not
        for event in events:
            self.missing += max(0, event.seq - place.next_seq)
            place.next_seq = event.seq + 1
        return events
