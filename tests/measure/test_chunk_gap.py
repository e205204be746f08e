"""Chunk gap counts from one audio delta to the next of the same reply on the same connection."""

from pathlib import Path

import pytest

from rig.fold import result_of
from rig.measure.chunk_gap import ChunkGap
from tests.builders import Run
from tests.measure.values import about, values


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.start_call()
    return run


def test_each_delta_after_the_first_has_a_value(run: Run) -> None:
    for at_s in (4.0, 4.1, 5.1):
        run.audio(at_s)
    assert values(result_of(ChunkGap, run.history())) == about(100, 1_000)


def test_the_silence_between_two_replies_is_no_gap(run: Run) -> None:
    run.audio(4.0, response_id="r0")
    run.audio(9.0, response_id="r1", turn=1)
    assert result_of(ChunkGap, run.history()).n == 0


def test_replies_without_an_id_are_told_apart_by_their_turn(run: Run) -> None:
    run.audio(4.0, response_id=None, turn=0)
    run.audio(4.2, response_id=None, turn=0)
    run.audio(9.0, response_id=None, turn=1)
    assert values(result_of(ChunkGap, run.history())) == about(200)


def test_the_time_without_a_connection_is_no_gap(run: Run) -> None:
    run.audio(4.0, connection=0)
    run.audio(9.0, connection=1)
    assert result_of(ChunkGap, run.history()).n == 0
