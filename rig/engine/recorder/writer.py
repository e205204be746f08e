"""The writing end of a ring: one process, no lock, no system call on the way of a record.

The file is mapped and shared, so that what was written is there after SIGKILL. Its whole size is claimed from the disk
when it is made: a disk that is full then means no recorder, and never a SIGBUS later. A slot is claimed by one step of
a counter, which the interpreter does not interrupt: the scheduler's thread writes, and the two that carry chunks.
"""

import itertools
import mmap
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from rig.clock import boot_id, monotonic_ns, wall_ns
from rig.events import ring
from rig.events.ring import Kind

_STEPS = [ring.step_struct(ids).pack_into for ids in range(ring.IDS_A_RECORD + 1)]
_EMPTY = _STEPS[0]
_UPDATES = [ring.update_struct(ends).pack_into for ends in range(ring.ENDS_A_RECORD + 1)]
_UPDATE = int(Kind.UPDATE)
_REQUEST = ring.request_struct().pack_into
_ERROR = ring.error_struct().pack_into
_RECORD_BYTES, _RING_AT, _MASK = ring.RECORD_BYTES, ring.RING_AT, ring.SLOTS - 1
_WIDEST = ring.IDS_A_RECORD
U32 = (1 << 32) - 1
_U16 = (1 << 16) - 1

assert ring.SLOTS & _MASK == 0, "a slot is found by a mask"

Counts = tuple[int, int, int, int, int]
"""Requests in running, waiting, skipped_waiting and parked, and free KV blocks."""
_END_FIELDS = len(ring.END_FIELDS)
_MOST = ring.ENDS_A_RECORD * _END_FIELDS
HELD, ROUNDS = 16, 256
"""While steps go round they have so many slots in common, so many times; then others, before the ring is full."""


class RingWriter:
    """A new ring file. Raises OSError when it cannot be made."""

    def __init__(self, path: Path, stage: int, scheduler: str, statuses: Mapping[int, str]) -> None:
        self.path = path
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            os.posix_fallocate(descriptor, 0, ring.FILE_BYTES)
            self._map = mmap.mmap(descriptor, ring.FILE_BYTES)
            # Every page is touched now, so that no step has to wait for one.
            self._map[:] = bytes(ring.FILE_BYTES)
        except OSError:
            path.unlink()
            raise
        finally:
            os.close(descriptor)
        self._claim = self._claim_step = itertools.count(1).__next__
        self._claim_id = itertools.count(1).__next__
        self._numbers: dict[str, int] = {}
        self._number_of = self._numbers.__getitem__
        self._names: list[str | None] = [None] * ring.ID_SLOTS
        header = ring.RingHeader(
            stage=stage,
            pid=os.getpid(),
            host=socket.gethostname(),
            boot_id=boot_id(),
            t_ns=monotonic_ns(),
            wall_ns=wall_ns(),
            scheduler=scheduler,
            statuses=dict(statuses),
        )
        text = msgspec.json.encode(header)
        assert len(text) < ring.HEADER_BYTES - 16
        self._map[8 : 12 + len(text)] = len(text).to_bytes(4, "little") + text
        # Last: a file with its mark has a whole header.
        self._map[:8] = ring.MAGIC

    def number(self, request_id: str) -> int:
        """The number of a request id; the first time it is written into the id table."""
        found = self._numbers.get(request_id)
        if found is not None:
            return found
        number = self._claim_id()
        slot = number % ring.ID_SLOTS
        if (forgotten := self._names[slot]) is not None:
            self._numbers.pop(forgotten, None)
        self._names[slot] = request_id
        text = request_id.encode("utf-8", "replace")[: ring.ID_TEXT_BYTES]
        at = ring.IDS_AT + slot * ring.ID_BYTES
        end = at + ring.ID_TAIL_AT
        self._map[end : end + 4] = bytes(4)
        ring.ID_ENTRY.pack_into(self._map, at, number, len(text))
        self._map[at + ring.ID_ENTRY.size : at + ring.ID_ENTRY.size + len(text)] = text
        self._map[end : end + 4] = number.to_bytes(4, "little")
        self._numbers[request_id] = number
        return number

    def step(
        self,
        kind: int,
        t_ns: int,
        step: int,
        counts: Counts,
        tokens: Mapping[str, int],
        spent_us: int = 0,
        step_us: int = 0,
        empty: int = 0,
    ) -> None:
        """What a step did. More than 16 requests take further records; beyond 64 they are only counted."""
        count = len(tokens)
        if count == 0:
            seq = self._claim_step()
            running, waiting, skipped, parked, free = counts
            # Without a star: a list for the arguments costs as much as the record.
            _EMPTY(
                self._map, _RING_AT + (seq & _MASK) * _RECORD_BYTES,
                seq, t_ns, kind, 0, 0, step, running, waiting, skipped, parked, free, spent_us, step_us, empty, 0, seq,
            )  # fmt: skip
            return
        if count > _WIDEST:
            self._wide_step(kind, t_ns, step, counts, tokens, (spent_us, step_us, empty))
            return
        try:
            listed = list(map(self._number_of, tokens))
        except KeyError:
            listed = [self.number(request_id) for request_id in tokens]
        listed += tokens.values()
        seq = self._claim_step()
        running, waiting, skipped, parked, free = counts
        _STEPS[count](
            self._map, _RING_AT + (seq & _MASK) * _RECORD_BYTES,
            seq, t_ns, kind, count, 0, step, running, waiting, skipped, parked, free, spent_us, step_us, empty, 0,
            *listed, seq,
        )  # fmt: skip

    def update(
        self, t_ns: int, step: int, counts: Counts, spent_us: int, step_us: int, ends: Sequence[int] = ()
    ) -> None:
        """A step that came back. `ends`: `ring.END_FIELDS` of each request that ended in it, one after the other."""
        count = len(ends) // _END_FIELDS
        if count > ring.ENDS_A_RECORD:
            self._update_in_parts(t_ns, step, counts, spent_us, step_us, ends)
            return
        seq = self._claim_step() if count == 0 else self._claim()
        running, waiting, skipped, parked, free = counts
        _UPDATES[count](
            self._map, _RING_AT + (seq & _MASK) * _RECORD_BYTES,
            seq, t_ns, _UPDATE, count, 0, step, running, waiting, skipped, parked, free, spent_us, step_us, 0, 0,
            *ends, seq,
        )  # fmt: skip

    def go_round(self, on: bool) -> None:
        """Let the steps that follow take each other's slots, so that a run of equal ones does not fill the ring."""
        self._claim_step = self._going_round().__next__ if on else self._claim

    def _going_round(self) -> Iterator[int]:
        while True:
            held: list[int] = []
            for _ in range(HELD):
                held.append(self._claim())
                yield held[-1]
            for _ in range(ROUNDS):
                for seq in held:
                    # A record that is not finished must not look like the one before it.
                    ring.TAIL.pack_into(self._map, _RING_AT + (seq & _MASK) * _RECORD_BYTES + ring.TAIL_AT, 0)
                    yield seq

    def request(
        self,
        kind: int,
        t_ns: int,
        request_id: str,
        queues: tuple[int, int] = (0, 0),
        statuses: tuple[int, int] = (ring.NO_STATUS, ring.NO_STATUS),
        values: tuple[int, int] = (0, 0),
    ) -> None:
        """What happened to one request: queues and statuses before and after, two values that depend on the kind."""
        number = self.number(request_id)
        seq = self._claim()
        (queue, queue_after), (status, status_after), (first, second) = queues, statuses, values
        _REQUEST(
            self._map, _RING_AT + (seq & _MASK) * _RECORD_BYTES,
            seq, t_ns, kind, 1, 0, number, queue, queue_after, status, status_after, first, second, seq,
        )  # fmt: skip

    def error(self, t_ns: int, request_id: str | None, text: str) -> None:
        """An exception that left the scheduler, and the request that it names."""
        number = 0 if request_id is None else self.number(request_id)
        data = text.encode("utf-8", "replace")[: ring.ERROR_TEXT_BYTES]
        seq = self._claim()
        at = _RING_AT + (seq & _MASK) * _RECORD_BYTES
        _ERROR(self._map, at, seq, t_ns, Kind.ERROR, 0, 0, number, len(data), data, seq)

    def knows(self, request_id: object) -> bool:
        """Whether a request of this id was recorded lately."""
        return isinstance(request_id, str) and request_id in self._numbers

    def _wide_step(
        self,
        kind: int,
        t_ns: int,
        step: int,
        counts: Counts,
        tokens: Mapping[str, int],
        times: tuple[int, int, int],
    ) -> None:
        """`times`: spent_us, step_us and empty, the same in each record."""
        listed = list(itertools.islice(tokens.items(), _WIDEST * ring.MAX_RECORDS_A_STEP))
        more = min(len(tokens) - len(listed), _U16)
        for first in range(0, len(listed), _WIDEST):
            part = listed[first : first + _WIDEST]
            ids = [self.number(request_id) for request_id, _ in part]
            seq = self._claim_step()
            _STEPS[len(ids)](
                self._map, _RING_AT + (seq & _MASK) * _RECORD_BYTES,
                seq, t_ns, kind, len(ids), ring.CONTINUED if first > 0 else 0,
                step, *counts, *times, more, *ids, *(count for _, count in part), seq,
            )  # fmt: skip

    def _update_in_parts(
        self, t_ns: int, step: int, counts: Counts, spent_us: int, step_us: int, ends: Sequence[int]
    ) -> None:
        """The update itself is the last record, so that it is not there before its ends are."""
        last = (len(ends) - 1) // _MOST * _MOST
        for first in range(0, last, _MOST):
            part = ends[first : first + _MOST]
            seq = self._claim()
            _UPDATES[ring.ENDS_A_RECORD](
                self._map, _RING_AT + (seq & _MASK) * _RECORD_BYTES,
                seq, t_ns, _UPDATE, ring.ENDS_A_RECORD, ring.CONTINUED,
                step, *counts, spent_us, step_us, 0, 0, *part, seq,
            )  # fmt: skip
        self.update(t_ns, step, counts, spent_us, step_us, ends[last:])


def microseconds(ns: int) -> int:
    """Whole microseconds of a duration, within what a record can hold."""
    spent_us = ns // 1_000
    if 0 <= spent_us <= U32:
        return spent_us
    return 0 if spent_us < 0 else U32
