"""Topics and payloads survive the trip, and what is not of the rig is refused."""

import pytest

from rig.bus import wire
from rig.errors import BusError
from rig.events.bus import ProducerState

PLACE = wire.Place("run-1", "caller", "caller-0")


def test_a_topic_names_run_role_producer_and_kind() -> None:
    assert PLACE.topic("events") == "rig/run-1/caller/caller-0/events"
    assert wire.place_of(PLACE.topic("status")) == (PLACE, "status")


@pytest.mark.parametrize("name", ["", "../up", "a/b", "+", "#", ".hidden", "a b", "x" * 129])
def test_a_name_that_cannot_be_a_topic_and_a_file_is_refused(name: str) -> None:
    with pytest.raises(BusError, match="cannot be a name"):
        wire.Place("run", "caller", name)


@pytest.mark.parametrize("topic", ["rig/a/b/c", "other/a/b/c/events", "rig/a/b/../events"])
def test_a_topic_that_is_not_the_rigs_is_refused(topic: str) -> None:
    with pytest.raises(BusError):
        wire.place_of(topic)


@pytest.mark.parametrize("data", [b"", b'{"a":1}\n', b"a piece of a long line", b"\n\n", bytes(range(256))])
def test_a_batch_keeps_its_bytes(data: bytes) -> None:
    batch = wire.Batch("abc", 12, data)
    assert wire.decode_batch(wire.encode_batch(batch)) == batch


@pytest.mark.parametrize("payload", [b"", b"x\n", b'{"spool":"a"}\n', b'{"spool":"a","offset":-1}\n'])
def test_what_is_no_batch_is_refused(payload: bytes) -> None:
    with pytest.raises(BusError, match="not a batch"):
        wire.decode_batch(payload)


def test_status_and_control_come_back_as_they_were() -> None:
    status = wire.Status(ProducerState.CLOSED, "abc", "host", 7, 99)
    control = wire.Control("resend", "abc", 5)
    assert wire.decode_status(wire.encode(status)) == status
    assert wire.decode_control(wire.encode(control)) == control
    with pytest.raises(BusError):
        wire.decode_status(b"{}")
    with pytest.raises(BusError):
        wire.decode_control(b"{}")
