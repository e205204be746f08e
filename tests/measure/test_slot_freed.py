"""Slot freed counts from a hang-up until its own caller, refused meanwhile, is let in."""

from pathlib import Path

import pytest

from rig.events.types import Act, Connect
from rig.fold import result_of
from rig.measure.slot_freed import SlotFreed
from tests.builders import Run
from tests.measure.values import about, values

CALL = "c000-0000"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A caller who hung up at 5 s, late by 0.1 s."""
    run = Run(tmp_path / "run")
    run.start_call()
    run.connect(2.0, ready_s=2.5)
    run.act(5.0, Act.HANG_UP_RST, late_s=0.1)
    return run


def test_a_caller_who_was_refused_waits_from_the_hang_up_to_the_session(run: Run) -> None:
    run.refuse(6.0, CALL, connection=1)
    run.refuse(20.0, CALL, connection=2)
    run.connect(39.0, connection=3, why=Connect.NEW_SESSION, ready_s=39.9)
    assert values(result_of(SlotFreed, run.history())) == about(35_000)


def test_a_caller_who_was_let_in_at_once_says_nothing(run: Run) -> None:
    run.connect(5.1, connection=1, why=Connect.NEW_SESSION, ready_s=5.5)
    figure = result_of(SlotFreed, run.history())
    assert (figure.n, figure.unavailable) == (0, {})


def test_a_refused_resume_is_no_full_server(run: Run) -> None:
    run.refuse(5.2, CALL, connection=1, code="resync_required")
    run.connect(5.3, connection=2, why=Connect.NEW_SESSION, ready_s=5.5)
    assert result_of(SlotFreed, run.history()).n == 0


def test_a_caller_who_never_got_in_is_counted(run: Run) -> None:
    run.refuse(6.0, CALL, connection=1)
    assert result_of(SlotFreed, run.history()).unavailable == {"never let in": 1}


def test_each_hang_up_of_a_call_counts_for_itself(run: Run) -> None:
    run.connect(5.1, connection=1, why=Connect.NEW_SESSION, ready_s=5.5)
    run.act(10.0, Act.HANG_UP_FIN)
    run.refuse(11.0, CALL, connection=2)
    run.connect(40.0, connection=3, why=Connect.NEW_SESSION, ready_s=41.0)
    assert values(result_of(SlotFreed, run.history())) == about(31_000)
