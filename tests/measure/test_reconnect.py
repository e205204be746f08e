"""Reconnect to first audio counts the waiting of a caller who came back, without what the caller spent on speaking."""

from pathlib import Path

import pytest

from rig.events.types import Connect
from rig.fold import result_of
from rig.measure.reconnect import ReconnectNew, ReconnectResumed
from tests.builders import Run
from tests.measure.values import about, values


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A call whose first connection ended at 5 s."""
    run = Run(tmp_path / "run")
    run.start_call()
    run.connect(2.0, ready_s=2.5)
    run.audio(4.0)
    run.close(5.0)
    return run


def test_a_caller_who_speaks_again_waits_twice(run: Run) -> None:
    run.connect(5.0, connection=1, why=Connect.NEW_SESSION, ready_s=5.5)
    run.spoke(6.0, 8.0, turn=1, connection=1, late_s=0.25)
    run.audio(9.0, turn=1, connection=1, response_id="r1")
    # 5.5 - 5.0 for the session and 9.0 - 8.0 (planned) for the answer; thinking and speaking in between do not count.
    assert values(result_of(ReconnectNew, run.history())) == about(1_500)


def test_a_resumed_caller_who_only_listens_waits_once(run: Run) -> None:
    run.connect(5.0, connection=1, why=Connect.RESUME, ready_s=5.2, resumed=True)
    run.audio(5.7, connection=1)
    history = run.history()
    assert values(result_of(ReconnectResumed, history)) == about(700)
    assert result_of(ReconnectNew, history).n == 0


def test_refused_attempts_are_part_of_the_wait(run: Run) -> None:
    run.connect(5.0, connection=1, why=Connect.NEW_SESSION)
    run.refuse(5.1, "c000-0000", connection=1)
    run.connect(7.0, connection=2, why=Connect.NEW_SESSION, ready_s=7.5)
    run.audio(8.0, connection=2, response_id="r1")
    # From the first attempt at 5 s to the audio at 8 s.
    assert values(result_of(ReconnectNew, run.history())) == about(3_000)


def test_a_resume_that_became_a_new_session_counts_as_one(run: Run) -> None:
    run.connect(5.0, connection=1, why=Connect.RESUME)
    run.refuse(5.1, "c000-0000", connection=1, code="resync_required")
    run.connect(5.2, connection=2, why=Connect.NEW_SESSION, ready_s=5.5)
    run.audio(6.0, connection=2, response_id="r1")
    history = run.history()
    assert values(result_of(ReconnectNew, history)) == about(1_000)
    assert result_of(ReconnectResumed, history).n == 0


def test_a_call_that_never_hung_up_is_not_counted(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call()
    run.connect(2.0, ready_s=2.5)
    history = run.history()
    for measured in (result_of(ReconnectNew, history), result_of(ReconnectResumed, history)):
        assert (measured.n, measured.unavailable) == (0, {})


@pytest.mark.parametrize("why", [Connect.NEW_SESSION, Connect.RESUME])
def test_a_return_without_a_session_is_counted_under_the_way_it_was_tried(run: Run, why: Connect) -> None:
    run.connect(5.0, connection=1, why=why)
    history = run.history()
    resumed = why is Connect.RESUME
    assert result_of(ReconnectResumed, history).unavailable == ({"no session": 1} if resumed else {})
    assert result_of(ReconnectNew, history).unavailable == ({} if resumed else {"no session": 1})


def test_a_return_without_audio_is_counted(run: Run) -> None:
    run.connect(5.0, connection=1, why=Connect.NEW_SESSION, ready_s=5.5)
    run.audio(6.0, connection=1, samples=0)
    measured = result_of(ReconnectNew, run.history())
    assert (measured.n, measured.unavailable) == (0, {"no audio after the return": 1})


def test_an_answer_while_the_caller_still_speaks_is_counted(run: Run) -> None:
    run.connect(5.0, connection=1, why=Connect.NEW_SESSION, ready_s=5.5)
    run.spoke(6.0, 8.0, turn=1, connection=1)
    run.audio(7.0, turn=1, connection=1, response_id="r1")
    measured = result_of(ReconnectNew, run.history())
    assert (measured.n, measured.unavailable) == (0, {"answered while the caller still spoke": 1})
