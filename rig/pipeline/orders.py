"""What the rig and the host of its server tell each other, one JSON line each.

The rig's first line is an `Order`, its second, if any, is `STOP`; the end of the connection means the same. The token
keeps out whoever else can reach the port: an order says which program is started, and with what environment.
"""

from typing import Literal, TypeVar

import msgspec

from rig.config.run import Watch
from rig.errors import PipelineError

LINE_LIMIT_BYTES = 1 << 20
STOP = b"stop\n"

Message = TypeVar("Message")


class Order(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Run this server for this run."""

    token: str
    run: str
    """Name of the results folder."""
    pipeline: str
    """Text of the pipeline file."""
    journals: Literal["events", "spool"]
    """The folder of the run that journals are written to."""
    health_interval_s: float
    memory_interval_s: float
    bus: dict[str, str]
    """Names and values as callers get them (RIG_BUS_URL and others); empty without a bus."""

    def watch(self) -> Watch:
        """How the server is watched."""
        return Watch(health_interval_s=self.health_interval_s, memory_interval_s=self.memory_interval_s)


class Ready(msgspec.Struct, frozen=True, tag_field="event", tag="ready"):
    """The server accepts duplex sessions on this port."""

    port: int


class Failed(msgspec.Struct, frozen=True, tag_field="event", tag="failed"):
    """The server could not be started, or the order was not taken."""

    why: str


class Lost(msgspec.Struct, frozen=True, tag_field="event", tag="lost"):
    """A process of the server died unasked; more may follow in the journal, but no second report."""

    what: str


class Stopped(msgspec.Struct, frozen=True, tag_field="event", tag="stopped"):
    """The server is stopped and its journal is closed; `problem` says what could not be stopped, None if all could."""

    problem: str | None


Report = Ready | Failed | Lost | Stopped

encode = msgspec.json.Encoder().encode
_order = msgspec.json.Decoder(Order)
_report: msgspec.json.Decoder[Report] = msgspec.json.Decoder(Report)


def line(message: Order | Report) -> bytes:
    """One message as it travels."""
    return encode(message) + b"\n"


def decode_order(data: bytes) -> Order:
    """Read an order. Raises PipelineError."""
    return _decoded(_order, data, "an order")


def decode_report(data: bytes) -> Report:
    """Read a report. Raises PipelineError."""
    return _decoded(_report, data, "a report of a host")


def _decoded(decoder: msgspec.json.Decoder[Message], data: bytes, what: str) -> Message:
    try:
        return decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise PipelineError(f"not {what}: {error}") from error
