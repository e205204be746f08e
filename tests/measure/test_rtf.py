"""The real-time factor is the time from the end of speech to the last audio over the length of the audio."""

from pathlib import Path

import pytest

from rig.fold import result_of
from rig.measure.rtf import AudioDuration, AudioRtf
from tests.builders import Run
from tests.measure.values import about, values


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.start_call()
    return run


def test_it_includes_the_wait_for_the_first_audio_as_upstreams_does(run: Run) -> None:
    run.spoke(3.0, 4.0)
    run.audio(5.0, samples=24_000)
    run.audio(6.0, samples=72_000)
    history = run.history()
    # 2 s for 4 s of sound.
    assert values(result_of(AudioRtf, history)) == about(0.5)
    assert values(result_of(AudioDuration, history)) == about(4.0)


def test_a_reply_without_an_end_of_speech_has_a_length_and_no_factor(run: Run) -> None:
    run.audio(5.0, samples=24_000)
    history = run.history()
    assert result_of(AudioRtf, history).unavailable == {"no end of speech on this connection": 1}
    assert values(result_of(AudioDuration, history)) == about(1.0)


def test_a_reply_that_began_while_the_caller_spoke_has_no_factor(run: Run) -> None:
    run.audio(3.5, samples=24_000)
    run.spoke(3.0, 4.0)
    assert result_of(AudioRtf, run.history()).unavailable == {"answered while the caller still spoke": 1}
