"""Topics and payloads of the bus. Pure: no I/O.

    rig/<run>/<role>/<producer>/events    batches of the very bytes of a journal
    rig/<run>/<role>/<producer>/status    retained: online, closed or (by last will) lost
    rig/<run>/<role>/<producer>/control   from the collector to one producer: resend, done, refuse

A batch says where in the journal its bytes begin. Places are byte offsets and not sequence numbers, because a journal
on a full disk has gaps in its numbers: bytes tell what the bus lost from what was never recorded.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Literal, TypeVar

import msgspec

from rig.errors import BusError
from rig.events.bus import ProducerState

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""Runs, roles and producers become topics and file names."""

BATCH_BYTES = 64 << 10
"""Most bytes of a journal in one batch; a longer line travels in pieces."""

Message = TypeVar("Message")

Kind = Literal["events", "status", "control"]


@dataclass(frozen=True)
class Place:
    """One producer of one run. Raises BusError for a name that cannot be a topic and a file."""

    run: str
    role: str
    producer: str

    def __post_init__(self) -> None:
        for name in (self.run, self.role, self.producer):
            if NAME.fullmatch(name) is None:
                raise BusError(f"{name!r} cannot be a name on the bus: letters, digits, '.', '_' and '-' only")

    def topic(self, kind: Kind) -> str:
        """The topic of this producer for events, status or control."""
        return f"rig/{self.run}/{self.role}/{self.producer}/{kind}"


def all_of(run: str, kind: Kind) -> str:
    """The filter for every producer of a run."""
    return f"rig/{run}/+/+/{kind}"


def place_of(topic: str) -> tuple[Place, str]:
    """Producer and kind of a topic. Raises BusError."""
    parts = topic.split("/")
    if len(parts) != 5 or parts[0] != "rig":
        raise BusError(f"{topic!r} is not a topic of the bus")
    return Place(parts[1], parts[2], parts[3]), parts[4]


class BatchHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """First line of a batch: which journal, and the offset of the first byte after this line."""

    spool: str
    offset: int


class Status(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """State of a producer; `size` is the length of its journal, known once it is closed."""

    state: ProducerState
    spool: str
    host: str
    pid: int
    size: int | None = None


class Control(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the collector tells the producer whose journal is `spool`."""

    do: Literal["resend", "done", "refuse"]
    spool: str
    offset: int = 0
    why: str = ""


@dataclass(frozen=True)
class Batch:
    """Bytes of a journal from `offset` on."""

    spool: str
    offset: int
    data: bytes


_encode = msgspec.json.Encoder().encode
_head = msgspec.json.Decoder(BatchHead)
_status = msgspec.json.Decoder(Status)
_control = msgspec.json.Decoder(Control)


def spool_id(header_line: bytes) -> str:
    """Identity of a journal: a digest of its first line, which names host, boot, pid and time."""
    return hashlib.sha256(header_line.rstrip(b"\n")).hexdigest()[:16]


def encode_batch(batch: Batch) -> bytes:
    """The payload of a batch."""
    return _encode(BatchHead(batch.spool, batch.offset)) + b"\n" + batch.data


def decode_batch(payload: bytes) -> Batch:
    """Read a batch. Raises BusError."""
    head, _, data = payload.partition(b"\n")
    found = _decoded(_head, head, "a batch")
    if found.offset < 0:
        raise BusError("not a batch: its offset is below 0")
    return Batch(found.spool, found.offset, data)


def encode(message: Status | Control) -> bytes:
    """The payload of a status or control message."""
    return _encode(message)


def decode_status(payload: bytes) -> Status:
    """Read a status. Raises BusError."""
    return _decoded(_status, payload, "a status")


def decode_control(payload: bytes) -> Control:
    """Read a control message. Raises BusError."""
    return _decoded(_control, payload, "a control message")


def _decoded(decoder: msgspec.json.Decoder[Message], payload: bytes, what: str) -> Message:
    try:
        return decoder.decode(payload)
    except msgspec.MsgspecError as error:
        raise BusError(f"not {what}: {error}") from error
