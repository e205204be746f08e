"""A yield is the model's own: it listens because the caller speaks, and no VAD cancelled it first."""

from pathlib import Path

import pytest

from rig.events.types import Act
from rig.fold import result_of
from rig.measure.figure import Rate
from rig.measure.yields import YieldLatency
from tests.builders import Run
from tests.measure.values import about, values


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A caller speaks over a reply from 5 s to 7 s."""
    run = Run(tmp_path / "run")
    run.start_call()
    run.audio(4.0)
    run.spoke(5.0, 7.0, turn=1)
    run.act(5.0, Act.BARGE_IN_SPEECH)
    return run


def test_a_reply_that_the_model_broke_off_while_the_caller_spoke_has_a_value(run: Run) -> None:
    run.server_says(5.8, "response.listen", "model_listen")
    run.server_says(5.9, "response.done", "completed")
    figure = result_of(YieldLatency, run.history())
    assert values(figure) == about(800)
    assert figure.rate == Rate("yield_rate", 1, 1, 1.0)


def test_a_model_that_speaks_on_did_not_yield(run: Run) -> None:
    run.server_says(9.0, "response.done", "completed")
    figure = result_of(YieldLatency, run.history())
    assert (figure.n, figure.unavailable) == (0, {"the model spoke on": 1})
    assert figure.rate == Rate("yield_rate", 0, 1, 0.0)


def test_a_model_that_listens_after_the_caller_stopped_did_not_yield(run: Run) -> None:
    run.server_says(7.5, "response.listen", "model_listen")
    run.server_says(7.6, "response.done", "completed")
    assert result_of(YieldLatency, run.history()).rate == Rate("yield_rate", 0, 1, 0.0)


@pytest.mark.parametrize("name", ["response.done", "response.cancelled"])
def test_a_cancel_by_vad_says_nothing_about_the_model(run: Run, name: str) -> None:
    run.server_says(5.5, name, "cancelled: turn_detected")
    run.server_says(5.8, "response.listen", "model_listen")
    figure = result_of(YieldLatency, run.history())
    assert (figure.n, figure.unavailable) == (0, {"cancelled by server VAD: the model was not asked": 1})
    assert figure.rate == Rate("yield_rate", 0, 0, None)


def test_a_listen_for_another_reason_is_no_yield(run: Run) -> None:
    run.server_says(5.8, "response.listen", "force_listen")
    assert result_of(YieldLatency, run.history()).unavailable == {"no terminal event": 1}
