"""Chunk gap counts from one audio delta to the next of the same reply on the same connection."""

from pathlib import Path

import pytest

from rig.clock import NS_PER_MS
from rig.fold import result_of
from rig.measure.chunk_gap import ChunkGap
from tests.builders import Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.start_call()
    return run


def test_each_delta_after_the_first_has_a_value(run: Run) -> None:
    for at_s in (4.0, 4.1, 5.1):
        run.audio(at_s)
    assert result_of(ChunkGap, run.history()).values_ns == [100 * NS_PER_MS, 1_000 * NS_PER_MS]


def test_the_silence_between_two_replies_is_no_gap(run: Run) -> None:
    run.audio(4.0, response_id="r0")
    run.audio(9.0, response_id="r1", turn=1)
    assert result_of(ChunkGap, run.history()).values_ns == []


def test_replies_without_an_id_are_told_apart_by_their_turn(run: Run) -> None:
    run.audio(4.0, response_id=None, turn=0)
    run.audio(4.2, response_id=None, turn=0)
    run.audio(9.0, response_id=None, turn=1)
    assert result_of(ChunkGap, run.history()).values_ns == [200 * NS_PER_MS]


def test_the_time_without_a_connection_is_no_gap(run: Run) -> None:
    run.audio(4.0, connection=0)
    run.audio(9.0, connection=1)
    assert result_of(ChunkGap, run.history()).values_ns == []
