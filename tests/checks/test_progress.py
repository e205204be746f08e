"""Progress: a turn without a reply or without an end fails, though every process may live."""

from pathlib import Path

import pytest

from rig.checks.progress import Progress
from rig.events import types as ev
from rig.events.types import Outcome
from rig.fold import result_of
from rig.verdict import Verdict
from tests.builders import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    run.start_call(2.0)
    return run


def test_turns_that_were_answered_and_ended_pass(run: Run) -> None:
    run.turn_ended(5.0, Outcome.DONE, turn=0)
    run.turn_ended(9.0, Outcome.CUT, turn=1)
    result = result_of(Progress, run.history())
    assert (result.verdict, result.summary) == (Verdict.PASS, "2 turns were answered and ended")


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome.NO_REPLY, "turn 1 of c000-0000: no audio within 8 s of the end of speech"),
        (Outcome.NO_END, "turn 1 of c000-0000: no terminal event within 30 s of the first audio"),
    ],
)
def test_a_turn_that_got_stuck_fails_with_the_deadline_it_missed(run: Run, outcome: Outcome, told: str) -> None:
    run.turn_ended(5.0, Outcome.DONE, turn=0)
    run.turn_ended(15.5, outcome, turn=1)
    result = result_of(Progress, run.history())
    assert result.verdict is Verdict.FAIL
    assert result.summary == "1 of 2 turns got stuck, the first at 15.5 s"
    assert (result.findings[0].text, result.findings[0].at_s, result.findings[0].call) == (told, 15.5, "c000-0000")


def test_a_frozen_server_whose_processes_all_live_fails(run: Run) -> None:
    run.turn_ended(5.0, Outcome.DONE)
    run.rig(6.0, ev.ProcessPaused, pid=102, stage="talker", paused=True)
    run.rig(7.0, ev.HealthProbed, status=200, latency_ns=1_000, error=None)
    run.turn_ended(20.0, Outcome.NO_REPLY, turn=1)
    run.stop()
    result = result_of(Progress, run.history())
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].text.endswith("end of speech; talker (pid 102) was stopped from 6.0 s")


def test_a_process_that_stood_still_long_before_is_not_named(run: Run) -> None:
    run.rig(3.0, ev.ProcessPaused, pid=102, stage="talker", paused=True)
    run.rig(5.0, ev.ProcessPaused, pid=102, stage="talker", paused=False)
    run.turn_ended(12.0, Outcome.NO_REPLY, turn=1)
    run.turn_ended(30.0, Outcome.NO_REPLY, turn=2)
    during, after = result_of(Progress, run.history()).findings
    assert during.text.endswith("; talker (pid 102) was stopped from 3.0 to 5.0 s")
    assert "stopped" not in after.text


def test_a_reply_that_ends_twice_fails(run: Run) -> None:
    run.turn_ended(5.0, Outcome.DONE)
    run.server_says(5.0, "response.done", "completed", server_seq=7)
    run.server_says(5.5, "response.done", "cancelled", server_seq=8)
    result = result_of(Progress, run.history())
    assert result.verdict is Verdict.FAIL
    assert result.summary == "1 terminal events came for replies that had ended, the first at 5.5 s"
    assert result.findings[0].text == "response r0 of c000-0000 ended twice: completed and cancelled"


def test_a_terminal_event_that_a_resume_replays_is_the_same_one(run: Run) -> None:
    run.turn_ended(5.0, Outcome.DONE)
    run.server_says(5.0, "response.done", "completed", server_seq=7)
    run.server_says(6.0, "response.done", "completed", server_seq=7, connection=1)
    assert result_of(Progress, run.history()).verdict is Verdict.PASS


def test_the_first_stuck_turn_is_the_first_in_time_not_of_the_first_call(run: Run) -> None:
    run.start_call(2.5, "c001-0000", caller=1)
    run.turn_ended(30.0, Outcome.NO_REPLY, "c000-0000")
    run.turn_ended(12.0, Outcome.NO_REPLY, "c001-0000")
    result = result_of(Progress, run.history())
    assert result.summary == "2 of 2 turns got stuck, the first at 12.0 s"
    assert [finding.call for finding in result.findings] == ["c001-0000", "c000-0000"]


def test_turns_that_the_caller_gave_up_or_the_run_cut_off_do_not_fail(run: Run) -> None:
    run.turn_ended(5.0, Outcome.DONE, turn=0)
    run.turn_ended(6.0, Outcome.ABANDONED, turn=1)
    run.turn_ended(9.0, Outcome.UNFINISHED, turn=2)
    result = result_of(Progress, run.history())
    assert result.verdict is Verdict.PASS
    assert result.summary == "1 turns were answered and ended, 1 still open when the run ended"


@pytest.mark.parametrize("outcome", [None, Outcome.UNFINISHED, Outcome.ABANDONED, Outcome.LOST])
def test_a_run_in_which_no_turn_was_answered_is_unknown(run: Run, outcome: Outcome | None) -> None:
    if outcome is not None:
        run.turn_ended(5.0, outcome)
    result = result_of(Progress, run.history())
    assert (result.verdict, result.summary) == (Verdict.UNKNOWN, "no turn was answered")
