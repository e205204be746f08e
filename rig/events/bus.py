"""What the event bus can record; part of `AnyEvent` in rig/events/types.py."""

import enum

from rig.events.base import Event


class ProducerState(enum.StrEnum):
    """What the bus knows of a producer. `LOST` is its last will: its connection broke without a word."""

    ONLINE = "online"
    CLOSED = "closed"
    LOST = "lost"


class BusChanged(Event, frozen=True, tag="bus_changed"):
    """The collector's connection to the broker came or went; `url` holds no user and no password."""

    up: bool
    url: str
    detail: str


class BrokerExited(Event, frozen=True, tag="broker_exited"):
    """The embedded broker is gone unasked and is started again; never a fault of the server.

    Exactly one of `exit_status` and `signal` is set.
    """

    pid: int
    exit_status: int | None
    signal: str | None


class ProducerStatus(Event, frozen=True, tag="producer_status"):
    """A producer came, ended in order, or was lost; `pid` and `host` are as it says."""

    producer: str
    role: str
    host: str
    pid: int
    state: ProducerState


class ProducerRefused(Event, frozen=True, tag="producer_refused"):
    """A second producer used the name of another, or one that is no name; nothing of it was taken."""

    producer: str
    role: str
    why: str


class EventsFilled(Event, frozen=True, tag="events_filled"):
    """What the bus had not delivered was taken from the producer's journal on this host: nothing is lost."""

    producer: str
    events: int
    size_bytes: int


class ProducerIncomplete(Event, frozen=True, tag="producer_incomplete"):
    """A producer's journal could not be had to its end."""

    producer: str
    role: str
    why: str


BusEvent = BusChanged | BrokerExited | ProducerStatus | ProducerRefused | EventsFilled | ProducerIncomplete
