"""Barge-in stop counts from the planned act to the end of the interrupted reply, speech and cancel apart."""

from pathlib import Path

import pytest

from rig.events.types import Act
from rig.fold import result_of
from rig.measure.barge_in_stop import BargeInStopCancel, BargeInStopSpeech
from tests.builders import Run
from tests.measure.values import about, values


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.start_call()
    return run


@pytest.mark.parametrize("name", ["response.done", "response.cancelled"])
def test_it_ends_with_the_terminal_event(run: Run, name: str) -> None:
    run.audio(4.0)
    run.act(5.0, Act.BARGE_IN_CANCEL, late_s=0.1)
    run.server_says(5.4, name, "cancelled")
    # Planned at 4.9 s, ended at 5.4 s.
    assert values(result_of(BargeInStopCancel, run.history())) == about(500)


def test_audio_after_the_terminal_event_goes_on_counting(run: Run) -> None:
    run.act(5.0, Act.BARGE_IN_SPEECH)
    run.server_says(5.5, "response.done", "cancelled")
    run.audio(6.0)
    assert values(result_of(BargeInStopSpeech, run.history())) == about(1_000)


def test_audio_of_another_turn_does_not_count(run: Run) -> None:
    run.act(5.0, Act.BARGE_IN_SPEECH)
    run.server_says(5.5, "response.done", "cancelled")
    run.audio(6.0, turn=1, response_id="r1")
    assert values(result_of(BargeInStopSpeech, run.history())) == about(500)


def test_speech_and_cancel_are_told_apart(run: Run) -> None:
    run.act(5.0, Act.BARGE_IN_SPEECH, turn=0)
    run.server_says(5.5, "response.done", "cancelled", turn=0)
    run.act(7.0, Act.BARGE_IN_CANCEL, turn=1)
    run.server_says(7.1, "response.done", "cancelled", turn=1)
    history = run.history()
    assert values(result_of(BargeInStopSpeech, history)) == about(500)
    assert values(result_of(BargeInStopCancel, history)) == about(100)


def test_a_reply_that_was_not_cut_is_counted_by_reason(run: Run) -> None:
    run.act(5.0, Act.BARGE_IN_CANCEL, turn=0)
    run.server_says(5.5, "response.done", "completed", turn=0)
    run.server_says(6.0, "response.done", "cancelled", turn=1)
    run.act(7.0, Act.BARGE_IN_CANCEL, turn=1)
    measured = result_of(BargeInStopCancel, run.history())
    assert measured.n == 0
    assert measured.unavailable == {"reply had ended by itself": 1, "no terminal event": 1}


def test_of_two_responses_to_a_turn_only_the_one_that_was_heard_was_interrupted(run: Run) -> None:
    run.audio(4.0, response_id="r0")
    run.act(5.0, Act.BARGE_IN_CANCEL)
    run.server_says(5.1, "response.done", "cancelled", response_id="r9")
    run.audio(5.2, response_id="r9")
    run.server_says(5.3, "response.done", "cancelled", response_id="r0")
    run.audio(5.9, response_id="r9")
    assert values(result_of(BargeInStopCancel, run.history())) == about(300)
