"""A simulated player starts with the first sound, plays in real time, and stalls when it has nothing."""

from pathlib import Path

import pytest

from rig.fold import result_of
from rig.measure.figure import Rate
from rig.measure.underrun import Stalls, Underrun
from tests.builders import RUN_YAML, Run
from tests.measure.values import about, values

SECOND = 24_000


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.start_call()
    return run


def heard(run: Run, *at_s: float, response_id: str = "r0") -> None:
    """Deltas of one second each."""
    for moment_s in at_s:
        run.audio(moment_s, samples=SECOND, response_id=response_id)


def test_a_reply_that_comes_in_time_has_no_underrun(run: Run) -> None:
    heard(run, 4.0, 5.0, 5.5)
    history = run.history()
    assert values(result_of(Underrun, history)) == [0.0]
    assert values(result_of(Stalls, history)) == [0.0]


def test_the_stalls_of_a_reply_add_up(run: Run) -> None:
    heard(run, 4.0, 5.5, 6.0, 8.0)
    history = run.history()
    # Dry from 5.0 to 5.5; then two seconds until 7.5; dry until 8.0.
    figure = result_of(Underrun, history)
    assert values(figure) == about(1.0)
    assert figure.rate == Rate("audio_continuity_ok", 0, 1, 0.0)
    assert values(result_of(Stalls, history)) == about(2)


@pytest.mark.parametrize(("late_s", "continuous"), [(0.0999, 1), (0.1, 1), (0.101, 0)])
def test_a_reply_is_continuous_up_to_100_ms_as_upstream_has_it(run: Run, late_s: float, continuous: int) -> None:
    heard(run, 4.0, 5.0 + late_s)
    assert result_of(Underrun, run.history()).rate == Rate("audio_continuity_ok", continuous, 1, float(continuous))


def test_a_jitter_buffer_hides_stalls_up_to_its_length(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", run=RUN_YAML + "playback: {jitter_buffer_s: 0.4}\n")
    run.start_call()
    heard(run, 4.0, 5.5)
    assert values(result_of(Underrun, run.history())) == about(0.1)


def test_each_reply_has_a_player_of_its_own(run: Run) -> None:
    heard(run, 4.0)
    heard(run, 9.0, response_id="r1")
    assert values(result_of(Underrun, run.history())) == [0.0, 0.0]
