import base64

import pytest

from rig.events import ring
from rig.events.ring import Kind, Queue, session_of

SESSION = "duplex-7498d6ad66bb4c39a5e634f574b258ec"


def test_a_duplex_request_id_carries_its_session() -> None:
    seen = "duplex-s.ZHVwbGV4LTc0OThkNmFkNjZiYjRjMzlhNWU2MzRmNTc0YjI1OGVj.e.0.r.stage0"
    assert session_of(seen) == SESSION
    assert session_of(f"{seen}-1a2b3c4d") == SESSION


@pytest.mark.parametrize("length", range(1, 5))
def test_the_padding_that_the_server_leaves_out_is_not_needed(length: int) -> None:
    session = "x" * length
    encoded = base64.urlsafe_b64encode(session.encode()).decode().rstrip("=")
    assert session_of(f"duplex-s.{encoded}.e.12.r.stage1-turn3") == session


@pytest.mark.parametrize(
    "other", ["", "cmpl-1", "duplex-s.x.e.0", "duplex-s.-.e.0.r.stage0", "duplex-s._w.e.0.r.stage0"]
)
def test_any_other_id_carries_none(other: str) -> None:
    assert session_of(other) is None


def test_every_record_has_the_same_size_and_ends_with_its_number() -> None:
    steps = [ring.step_struct(ids) for ids in range(ring.IDS_A_RECORD + 1)]
    for layout in (*steps, ring.request_struct(), ring.error_struct()):
        assert layout.size == ring.RECORD_BYTES
    values = (7, 1, Kind.ABORT, 1, 0, 1, 0, 0, 0, 0, 0, 0, 7)
    packed = ring.request_struct().pack(*values)
    assert ring.HEAD.unpack_from(packed)[0] == ring.TAIL.unpack_from(packed, ring.TAIL_AT)[0] == 7


def test_queues_are_named_together() -> None:
    assert (Queue.RUNNING | Queue.SKIPPED_WAITING | Queue.TRACKED).names == "running and skipped_waiting"
    assert Queue.TRACKED.names == "no queue"
