"""First audio counts from the planned end of the caller's speech to the first sound of the answer."""

from pathlib import Path

import pytest

from rig.events.types import Act, Outcome
from rig.fold import result_of
from rig.measure.first_audio import FirstAudio
from tests.builders import Run
from tests.measure.values import about, values


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.start_call()
    return run


def test_each_answered_turn_has_a_value_from_the_planned_end_of_speech(run: Run) -> None:
    run.spoke(3.0, 4.0, turn=0, late_s=0.25)
    run.audio(5.5, turn=0)
    run.audio(6.0, turn=0)
    run.spoke(8.0, 9.0, turn=1)
    run.audio(9.75, turn=1, response_id="r1")
    # 5.5 - 4.0 (not 4.25) and 9.75 - 9.0 seconds; the second delta of turn 0 does not count.
    assert values(result_of(FirstAudio, run.history())) == about(750, 1_500)


def test_a_delta_without_samples_is_no_audio(run: Run) -> None:
    run.spoke(3.0, 4.0)
    run.audio(4.5, samples=0)
    run.audio(5.0)
    assert values(result_of(FirstAudio, run.history())) == about(1_000)


def test_turns_without_an_answer_are_counted_by_their_outcome(run: Run) -> None:
    for turn, outcome in enumerate((Outcome.NO_REPLY, Outcome.ABANDONED, Outcome.NO_REPLY)):
        run.spoke(3.0 + turn, 3.5 + turn, turn=turn)
        run.turn_ended(3.75 + turn, outcome, turn=turn)
    run.spoke(9.0, 9.5, turn=3)
    measured = result_of(FirstAudio, run.history())
    assert measured.n == 0
    assert measured.unavailable == {"turn no_reply": 2, "turn abandoned": 1, "turn not ended": 1}


def test_speech_that_was_broken_off_is_not_counted_at_all(run: Run) -> None:
    run.act(3.5, Act.HANG_UP_RST)
    measured = result_of(FirstAudio, run.history())
    assert (measured.n, measured.unavailable) == (0, {})


def test_an_answer_before_the_end_of_speech_is_no_negative_latency(run: Run) -> None:
    run.audio(3.5)
    run.spoke(3.0, 4.0)
    run.audio(4.5)
    measured = result_of(FirstAudio, run.history())
    assert measured.n == 0
    assert measured.unavailable == {"answered while the caller still spoke": 1}


def test_audio_of_another_connection_is_no_answer(run: Run) -> None:
    run.spoke(3.0, 4.0)
    run.audio(5.0, connection=1)
    assert result_of(FirstAudio, run.history()).n == 0


def test_a_wait_of_several_planned_turns_counts_for_those_it_kept_from_being(run: Run) -> None:
    interval_s = run.plan.turn_intervals_ns()[0] / 1e9
    run.spoke(3.0, 4.0)
    run.audio(4.0 + 3.5 * interval_s)
    figure = result_of(FirstAudio, run.history())
    assert figure.corrected is not None
    assert (figure.uncorrected.n, figure.corrected.n) == (1, 3)
    # 3.5, 2.5 and 1.5 intervals.
    assert figure.corrected.mean == pytest.approx(2_500 * interval_s, rel=1e-3)
