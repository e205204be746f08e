"""A row stands for exactly each value of a figure, with the caller, session and turn that it belongs to."""

from collections import defaultdict
from pathlib import Path

import pytest

from rig.events import types as ev
from rig.history import load
from rig.measure import measure_all
from rig.measure.figure import PER_UNIT
from rig.measure.histogram import Histogram
from rig.report.export import Row, stream
from tests.builders import Run
from tests.report.golden_runs import GoldenRuns
from tests.report.html.runs import sound


def rows_of(folder: Path) -> list[Row]:
    return [row for rows in stream(load(folder)) for row in rows]


def one(rows: list[Row], measure: str, **wanted: object) -> Row:
    (found,) = [
        row
        for row in rows
        if row.measure == measure and all(getattr(row, name) == value for name, value in wanted.items())
    ]
    return found


@pytest.mark.timeout(300)
def test_the_rows_of_a_real_run_are_the_values_of_its_figures(golden_runs: GoldenRuns) -> None:
    values: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for row in rows_of(golden_runs.slow):
        values[row.measure, row.corrected].append(round(row.value * PER_UNIT[row.unit]))
    figures = measure_all(load(golden_runs.slow))
    assert sum(figure.n > 0 for figure in figures) > 5
    for figure in figures:
        seen, filled = values[figure.name, False], values[figure.name, True]
        assert Histogram.of(seen) == Histogram.decode(figure.hdr), figure.name
        if figure.hdr_corrected is not None:
            assert Histogram.of([*seen, *filled]) == Histogram.decode(figure.hdr_corrected), figure.name


def test_a_value_knows_its_caller_session_and_turn(tmp_path: Path) -> None:
    run = sound(tmp_path / "run")
    run.history()
    rows = rows_of(run.folder)
    later = one(rows, "first_audio", turn=1)
    assert (later.caller, later.call, later.connection, later.session) == (0, "c000-0000", 1, "s")
    assert (later.at_s, later.value, later.unit) == (14.0, 2_000.0, "ms")
    stopped = one(rows, "barge_in_stop_cancel")
    assert stopped.turn == 0
    assert stopped.at_s == pytest.approx(7.02)
    assert stopped.value == pytest.approx(20.0)
    assert [row.turn for row in rows if row.measure == "connect"] == [None, None]


def test_a_connection_that_was_given_no_session_has_none(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.connect(2.0)
    run.call(3.0, ev.FramesSent, first_planned_ns=4_000_000_000, interval_ns=100_000_000, slips_us=[5, 7])
    run.history()
    rows = rows_of(run.folder)
    assert [(row.session, row.turn, row.at_s, row.value) for row in rows] == [
        (None, None, 3.0, 0.005),
        (None, None, pytest.approx(3.1), 0.007),
    ]


def test_what_a_stall_suppressed_has_rows_of_its_own(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.1)
    run.audio(5.0, samples=24_000)
    run.audio(8.5, samples=24_000)
    run.history()
    gaps = [(row.value, row.corrected, row.turn) for row in rows_of(run.folder) if row.measure == "chunk_gap"]
    assert gaps == [(3_500.0, False, 0), (2_500.0, True, 0), (1_500.0, True, 0)]


def test_calls_of_the_slot_probe_are_left_out(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0, behaviour="slots")
    run.connect(2.0, ready_s=2.1)
    run.history()
    assert rows_of(run.folder) == []
