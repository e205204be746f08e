"""The reading end of a ring: what an engine process did last, however it ended.

A record that its writer did not finish, or that was being overwritten, is left out and counted; a file that is no ring,
or is cut short, says so. Nothing here needs the engine.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from rig.errors import RigError
from rig.events import ring
from rig.events.ring import Kind, Queue, RingHeader

_STEP = struct.Struct("<" + ring.STEP_FIELDS)
_END = struct.Struct("<" + ring.END_FIELDS)
_REQUEST = struct.Struct("<" + ring.REQUEST_FIELDS)
_ERROR = struct.Struct("<" + ring.ERROR_FIELDS)


class RingError(RigError):
    """A file is no ring that this rig reads."""


@dataclass(frozen=True)
class Step:
    """A step record. Times are microseconds: `spent_us` of this call, `step_us` from its schedule to its update.

    `step` 0: it is not known which step came back, and `step_us` is 0 too.
    `tokens` maps the listed requests to their scheduled tokens; `more` requests were only counted. `empty` steps
    without a request came before.
    """

    seq: int
    t_ns: int
    kind: Kind
    step: int
    running: int
    waiting: int
    skipped_waiting: int
    parked: int
    free_blocks: int
    spent_us: int
    step_us: int
    empty: int
    tokens: dict[str, int]
    more: int = 0


@dataclass(frozen=True)
class Change:
    """A record about one request. Statuses are names, None where the scheduler did not know the request.

    `values`: prompt tokens and 1 for a session (ADD); computed and output tokens (FREE); 1 for finished (STOP); number
    of the chunk and its bytes, -1 for a chunk that was not taken (CHUNK_IN, CHUNK_OUT).
    """

    seq: int
    t_ns: int
    kind: Kind
    request: str
    queue: Queue
    queue_after: Queue
    status: str | None
    status_after: str | None
    values: tuple[int, int]


@dataclass(frozen=True)
class Raised:
    """An exception that left the scheduler, and the request that it names."""

    seq: int
    t_ns: int
    request: str | None
    text: str
    kind: Kind = Kind.ERROR


Record = Step | Change | Raised


@dataclass(frozen=True)
class Ring:
    """The last records of one process, in order. `written` counts all that it wrote, `damaged` those not readable."""

    path: Path
    header: RingHeader
    records: tuple[Record, ...]
    written: int
    damaged: int
    problems: tuple[str, ...] = field(default=())


def read(path: Path) -> Ring:
    """All records that a ring still holds. Raises RingError."""
    data = _bytes(path)
    header = _header(path, data)
    sequence = _Sequence(data, header)
    records: list[Record] = []
    damaged = 0
    for seq in sequence.numbers:
        found = sequence.records(seq)
        if found is None:
            damaged += 1
        else:
            records += found
    records.sort(key=lambda record: (record.t_ns, record.seq))
    problems = []
    expected = ring.RING_AT + header.slots * ring.RECORD_BYTES
    if len(data) < expected:
        problems.append(f"{path.name} is cut short: {len(data)} of {expected} bytes")
    if damaged > 0:
        problems.append(f"{path.name}: {damaged} of the last records are torn or missing")
    return Ring(path, header, tuple(records), sequence.newest, damaged, tuple(problems))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RingError(f"cannot read {path}: {error.strerror}") from error


def _header(path: Path, data: bytes) -> RingHeader:
    if data[:8] != ring.MAGIC and data[:8] not in ring.EARLIER_MAGICS:
        raise RingError(f"{path.name} is no ring, or its writer ended while it made it")
    length = int.from_bytes(data[8:12], "little")
    try:
        header = msgspec.json.decode(data[12 : 12 + length], type=RingHeader)
    except msgspec.MsgspecError as error:
        raise RingError(f"{path.name} has a header that cannot be read: {error}") from error
    if not (0 < header.slots <= 1 << 24 and 0 < header.id_slots <= 1 << 24):
        raise RingError(f"{path.name} has a header that cannot be true: {header.slots} slots")
    return header


def oldest_ns(path: Path) -> int | None:
    """The time of the oldest record that a ring still holds, None when it holds none. Raises RingError."""
    data = _bytes(path)
    sequence = _Sequence(data, _header(path, data))
    held = (sequence.records(seq) for seq in reversed(sequence.numbers))
    return next((records[0].t_ns for records in held if records), None)


class _Sequence:
    """The records of a ring by their numbers."""

    def __init__(self, data: bytes, header: RingHeader) -> None:
        self._data = data
        self._header = header
        self._at = ring.IDS_AT + header.id_slots * ring.ID_BYTES
        self._held = max(0, min(header.slots, (len(data) - self._at) // ring.RECORD_BYTES))
        # Also a torn record was claimed: what comes before it is older.
        self.newest = max((self._begun(slot) for slot in range(self._held)), default=0)

    @property
    def numbers(self) -> range:
        """Sequence numbers that the ring can still hold, newest first."""
        return range(self.newest, max(0, self.newest - self._header.slots), -1)

    def _begun(self, slot: int) -> int:
        """The number at the head of a slot where that is one which this slot can have, else 0."""
        (seq,) = ring.TAIL.unpack_from(self._data, self._at + slot * ring.RECORD_BYTES)
        return int(seq) if seq % self._header.slots == slot else 0

    def records(self, seq: int) -> Sequence[Record] | None:
        """What one record tells, None where it is torn, was never finished, or lies behind the end of the file.

        An update's tells the freeing of each request that ended in it, too.
        """
        slot = seq % self._header.slots
        if slot >= self._held:
            return None
        at = self._at + slot * ring.RECORD_BYTES
        head, t_ns, kind, count, flags = ring.HEAD.unpack_from(self._data, at)
        (tail,) = ring.TAIL.unpack_from(self._data, at + ring.TAIL_AT)
        if head != seq or tail != seq:
            return None
        try:
            if kind == Kind.UPDATE and count > 0:
                return self._update(seq, t_ns, count, flags, at + ring.HEAD.size)
            record = self._decoded(seq, t_ns, Kind(kind), count, at + ring.HEAD.size)
        except ValueError:
            return None
        return None if record is None else (record,)

    def _update(self, seq: int, t_ns: int, count: int, flags: int, at: int) -> Sequence[Record] | None:
        """The requests that ended, and the update itself, unless another record of it follows."""
        step = self._step(seq, t_ns, Kind.UPDATE, 0, at)
        if count > ring.ENDS_A_RECORD or step is None:
            return None
        ends: list[Record] = [self._end(seq, t_ns, at + _STEP.size + index * _END.size) for index in range(count)]
        return ends if flags & ring.CONTINUED else [*ends, step]

    def _end(self, seq: int, t_ns: int, at: int) -> Change:
        number, place, code, computed, output = _END.unpack_from(self._data, at)
        queue, status = Queue(place), self._header.statuses.get(code)
        return Change(seq, t_ns, Kind.FREE, self.name(number), queue, queue, status, status, (computed, output))

    def _decoded(self, seq: int, t_ns: int, kind: Kind, count: int, at: int) -> Record | None:
        if kind in ring.STEP_KINDS:
            return self._step(seq, t_ns, kind, count, at)
        if kind is Kind.ERROR:
            number, length = _ERROR.unpack_from(self._data, at)
            text = self._data[at + _ERROR.size : at + _ERROR.size + min(length, ring.ERROR_TEXT_BYTES)]
            return Raised(seq, t_ns, self.name(number) if number else None, text.decode("utf-8", "replace"))
        number, queue, queue_after, status, status_after, first, second = _REQUEST.unpack_from(self._data, at)
        statuses = self._header.statuses
        return Change(
            seq, t_ns, kind, self.name(number), Queue(queue), Queue(queue_after),
            statuses.get(status), statuses.get(status_after), (first, second),
        )  # fmt: skip

    def _step(self, seq: int, t_ns: int, kind: Kind, count: int, at: int) -> Step | None:
        if count > ring.IDS_A_RECORD:
            return None
        step, running, waiting, skipped, parked, free, spent, whole, empty, more = _STEP.unpack_from(self._data, at)
        listed = struct.unpack_from(f"<{2 * count}I", self._data, at + _STEP.size)
        tokens = {self.name(number): amount for number, amount in zip(listed[:count], listed[count:], strict=True)}
        return Step(
            seq, t_ns, kind, step, running, waiting, skipped, parked, free, spent, whole, empty, tokens, more
        )  # fmt: skip

    def name(self, number: int) -> str:
        """The request id of a number; where the table no longer holds it, that."""
        at = ring.IDS_AT + number % self._header.id_slots * ring.ID_BYTES
        entry = self._data[at : at + ring.ID_BYTES]
        if len(entry) == ring.ID_BYTES:
            found, length = ring.ID_ENTRY.unpack_from(entry)
            (again,) = struct.unpack_from("<I", entry, ring.ID_TAIL_AT)
            if found == again == number and length <= ring.ID_TEXT_BYTES:
                return entry[ring.ID_ENTRY.size : ring.ID_ENTRY.size + length].decode("utf-8", "replace")
        return f"request #{number} (its name is overwritten)"
