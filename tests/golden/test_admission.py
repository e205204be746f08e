"""Slots: given up to the limit, kept through the grace, and never given back when a fault lost them."""

import pytest

from rig.clock import NS_PER_S
from rig.config.pipeline import Duplex
from rig.golden.admission import Admission


@pytest.fixture
def admission() -> Admission:
    """Two slots, both taken at 0; 5 s of grace, 60 s of idleness."""
    admission = Admission(Duplex(max_sessions=2, disconnect_grace_s=5.0), idle_ttl_s=60.0)
    for session_id in ("a", "b"):
        assert not admission.full
        admission.admit(session_id, 0)
    return admission


def test_it_is_full_at_the_limit_and_free_after_a_release(admission: Admission) -> None:
    assert (admission.held, admission.full) == (2, True)
    assert admission.release("a")
    assert (admission.held, admission.full) == (1, False)


def test_a_dropped_session_expires_after_its_grace_and_holds_its_slot_until_it_is_released(
    admission: Admission,
) -> None:
    admission.detach("a", 10 * NS_PER_S)
    assert admission.expired(15 * NS_PER_S - 1) == []
    assert admission.expired(15 * NS_PER_S) == [("a", "disconnect_grace_expired")]
    assert admission.full


def test_a_resumed_session_does_not_expire(admission: Admission) -> None:
    admission.detach("a", 10 * NS_PER_S)
    admission.attach("a", 12 * NS_PER_S)
    assert admission.expired(20 * NS_PER_S) == []


def test_an_idle_session_expires_unless_it_is_touched(admission: Admission) -> None:
    admission.touch("a", 30 * NS_PER_S)
    assert admission.expired(60 * NS_PER_S) == [("b", "idle_ttl_expired")]


def test_a_lost_slot_is_held_once_and_for_ever(admission: Admission) -> None:
    admission.lose("a")
    assert admission.held == 2
    assert not admission.release("a")
    assert admission.held == 2


def test_a_session_that_is_gone_is_no_longer_known(admission: Admission) -> None:
    admission.release("a")
    admission.detach("a", 0)
    admission.touch("a", 0)
    assert [session_id for session_id, _ in admission.expired(90 * NS_PER_S)] == ["b"]
