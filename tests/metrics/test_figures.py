"""Figures as histograms: the right bucket, the sum in base units, and what could not be measured."""

from pathlib import Path

import pytest

from rig.clock import NS_PER_MS, NS_PER_S
from rig.history import Call
from rig.measure.chunk_gap import ChunkGap
from rig.measure.figure import Measure
from rig.measure.underrun import Stalls, Underrun
from rig.metrics.board import families
from rig.metrics.figures import figures_board
from tests.builders import Run
from tests.metrics.text import Samples, samples_of, series


@pytest.fixture
def call(tmp_path: Path) -> Call:
    run = Run(tmp_path / "run")
    run.start_call(2.0, behaviour="barge_in")
    (calls,) = run.history().calls()
    return calls[0]


def made(kind: type[Measure], tmp_path: Path) -> Measure:
    return kind(Run(tmp_path / "other").history())


def found(measure: Measure) -> Samples:
    return samples_of(families([figures_board([measure])]))


def test_values_are_in_seconds_by_scenario(tmp_path: Path, call: Call) -> None:
    measure = made(ChunkGap, tmp_path)
    for value_ms in (40, 100, 260):
        measure.add(call, call.start.t_ns, value_ms * NS_PER_MS, of=call.start)
    samples = found(measure)
    at = {
        le: samples[series("rig_chunk_gap_seconds_bucket", scenario="barge_in", le=le)]
        for le in ("0.025", "0.05", "0.1", "0.25", "0.5", "+Inf")
    }
    assert list(at.values()) == [0, 1, 2, 2, 3, 3]
    assert samples[series("rig_chunk_gap_seconds_sum", scenario="barge_in")] == pytest.approx(0.4, rel=0.001)


def test_what_a_stall_suppressed_is_in_the_corrected_histogram_alone(tmp_path: Path, call: Call) -> None:
    measure = made(ChunkGap, tmp_path)
    measure.add(call, call.start.t_ns, 5 * NS_PER_S, interval_ns=NS_PER_S, of=call.start)
    samples = found(measure)
    assert samples[series("rig_chunk_gap_seconds_count", scenario="barge_in")] == 1
    assert samples[series("rig_chunk_gap_corrected_seconds_count", scenario="barge_in")] == 5


def test_small_numbers_are_exact(tmp_path: Path, call: Call) -> None:
    measure = made(Stalls, tmp_path)
    for count in (0, 1, 1, 3):
        measure.add(call, call.start.t_ns, count * NS_PER_S, of=call.start)
    samples = found(measure)
    at = {le: samples[series("rig_audio_stalls_bucket", scenario="barge_in", le=le)] for le in ("0.0", "1.0", "2.0")}
    assert list(at.values()) == [1, 3, 3]
    assert samples[series("rig_audio_stalls_sum", scenario="barge_in")] == 5


def test_cases_without_a_value_and_cases_of_a_rate_are_counted(tmp_path: Path, call: Call) -> None:
    measure = made(Underrun, tmp_path)
    measure.miss("no audio")
    measure.measured.hits[True] += 2
    assert found(measure) == {
        series("rig_unmeasured_total", figure="audio_underrun", reason="no audio"): 1,
        series("rig_rate_cases_total", rate="audio_continuity_ok", held="yes"): 2,
        series("rig_rate_cases_total", rate="audio_continuity_ok", held="no"): 0,
    }
