"""Stale audio: whatever is heard of a reply after its end fails, without any allowance."""

from pathlib import Path

import pytest

from rig.checks.stale_audio import StaleAudio
from rig.events.types import Connect, Outcome
from rig.fold import result_of
from rig.verdict import Verdict
from tests.builders import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A reply that was heard from 5 s on and cut at 6 s."""
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5)
    run.audio(5.0, samples=24_000)
    run.server_says(6.0, "response.done", "cancelled: client_cancelled")
    run.turn_ended(6.0, Outcome.CUT)
    return run


def test_silence_after_the_end_passes(run: Run) -> None:
    result = result_of(StaleAudio, run.history())
    assert (result.verdict, result.summary) == (Verdict.PASS, "silence after each of 1 replies, 1 of them cut")


def test_one_chunk_after_the_terminal_event_fails(run: Run) -> None:
    run.audio(6.1, samples=24_000)
    run.audio(6.25, samples=12_000)
    result = result_of(StaleAudio, run.history())
    assert result.verdict is Verdict.FAIL
    assert result.summary == "1500 ms of sound came after the end of 1 of 1 replies"
    finding = result.findings[0]
    assert (finding.at_s, finding.call) == (6.1, "c000-0000")
    assert finding.text == (
        "c000-0000 heard 1500 ms of r0 up to 250 ms after response.done (cancelled: client_cancelled)"
    )


@pytest.mark.parametrize("stale", [False, True])
def test_a_chunk_read_together_with_the_terminal_event_counts_by_its_place(run: Run, stale: bool) -> None:
    run.audio(8.0, response_id="r1")
    run.server_says(8.0, "response.done", "completed", response_id="r1")
    if stale:
        run.audio(8.0, response_id="r1")
    assert result_of(StaleAudio, run.history()).verdict is (Verdict.FAIL if stale else Verdict.PASS)


def test_sound_between_the_cancel_and_its_answer_is_no_fault(run: Run) -> None:
    run.audio(5.9, samples=24_000)
    assert result_of(StaleAudio, run.history()).verdict is Verdict.PASS


def test_an_empty_chunk_is_no_sound(run: Run) -> None:
    run.audio(6.1, samples=0)
    assert result_of(StaleAudio, run.history()).verdict is Verdict.PASS


def test_the_next_reply_may_sound(run: Run) -> None:
    run.audio(8.0, response_id="r1")
    assert result_of(StaleAudio, run.history()).verdict is Verdict.PASS


@pytest.mark.parametrize("named", ["r1", None])
def test_sound_of_the_reply_that_was_cleared_fails(run: Run, named: str | None) -> None:
    run.audio(8.0, response_id="r1")
    run.server_says(8.5, "output_audio_buffer.cleared", response_id=named)
    run.audio(8.6, response_id="r1")
    result = result_of(StaleAudio, run.history())
    assert [finding.text for finding in result.findings] == [
        "c000-0000 heard 40 ms of r1 up to 100 ms after output_audio_buffer.cleared"
    ]


def test_sound_after_the_end_of_its_session_fails(run: Run) -> None:
    run.server_says(8.0, "session.closed", "client_close", response_id=None)
    run.audio(8.1, response_id="r1")
    assert "after session.closed (client_close)" in result_of(StaleAudio, run.history()).findings[0].text


def test_sound_of_a_cut_reply_after_a_resume_fails(run: Run) -> None:
    run.connect(7.0, connection=1, why=Connect.RESUME, ready_s=7.5, resumed=True)
    run.audio(8.0, connection=1)
    assert result_of(StaleAudio, run.history()).verdict is Verdict.FAIL


def test_another_session_of_the_call_is_not_over(run: Run) -> None:
    run.server_says(6.5, "session.closed", response_id=None)
    run.connect(7.0, connection=1, why=Connect.NEW_SESSION, ready_s=7.5, session_id="t")
    run.audio(8.0, connection=1)
    assert result_of(StaleAudio, run.history()).verdict is Verdict.PASS


def test_a_run_in_which_no_reply_ended_is_unknown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.audio(5.0)
    result = result_of(StaleAudio, run.history())
    assert (result.verdict, result.summary) == (Verdict.UNKNOWN, "no reply ended")
