"""Response latency counts from the planned end of speech to response.created."""

from pathlib import Path

import pytest

from rig.events.types import Outcome
from rig.fold import result_of
from rig.measure.response_latency import ResponseLatency
from tests.builders import Run
from tests.measure.values import about, values


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.start_call()
    return run


def test_the_first_response_of_a_turn_counts_from_the_planned_end_of_speech(run: Run) -> None:
    run.spoke(3.0, 4.0, late_s=0.25)
    run.server_says(4.5, "response.created")
    run.server_says(4.8, "response.created")
    assert values(result_of(ResponseLatency, run.history())) == about(500)


def test_a_turn_without_a_response_is_counted_by_its_outcome(run: Run) -> None:
    run.spoke(3.0, 4.0)
    run.server_says(4.5, "response.created", turn=1)
    run.turn_ended(9.0, Outcome.NO_REPLY)
    figure = result_of(ResponseLatency, run.history())
    assert (figure.n, figure.unavailable) == (0, {"turn no_reply": 1})
