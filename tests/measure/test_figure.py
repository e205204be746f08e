"""A figure tells what was seen and what stalls suppressed, by behaviour and time too; absent is None, not 0."""

import random
from pathlib import Path

import pytest

from rig.events import types as ev
from rig.fold import result_of
from rig.history import Call
from rig.measure.chunk_gap import ChunkGap
from rig.measure.figure import FLUSH_VALUES, Figure, Measure, Rate, Table
from rig.measure.histogram import Histogram
from tests.builders import Run, ns
from tests.measure.values import about, values

MS = 1_000_000


class PlainWait(Measure):
    """Each turn's `audio_ms` as a value."""

    name = "wait"
    measurement_origin = "a to b"

    def see(self, call: Call) -> None:
        for event in call.of(ev.TurnEnded):
            self.add(call, event.t_ns, event.audio_ms * MS, of=event)


class TurnWait(PlainWait):
    """The same, expected every 100 ms, unless the turn was lost; and how many were long."""

    expected_interval = "100 ms"
    rate_name = "long"

    def see(self, call: Call) -> None:
        for event in call.of(ev.TurnEnded):
            if event.outcome is ev.Outcome.LOST:
                self.miss("turn lost")
            else:
                self.measured.hits[event.audio_ms > 50] += 1
                self.add(call, event.t_ns, event.audio_ms * MS, 100 * MS, of=event)


def waited(run: Run, at_s: float, wait_ms: int, call: str = "c000-0000") -> None:
    run.call(at_s, ev.TurnEnded, call, turn=0, outcome=ev.Outcome.DONE, response_id=None, audio_ms=wait_ms)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    return run


def test_what_was_seen_is_summarised(run: Run) -> None:
    for at_s, wait_ms in enumerate((10, 30, 20, 40), start=3):
        waited(run, at_s, wait_ms)
    stats = result_of(PlainWait, run.history()).uncorrected
    # Mean 25; the 2nd of 4 is 20, the 4th is 40; the mean square distance from 25 is 125.
    told = (stats.n, stats.mean, stats.p50, stats.p95, stats.p99, stats.min, stats.max, stats.std)
    assert told == pytest.approx((4, 25.0, 20.0, 40.0, 40.0, 10.0, 40.0, 125**0.5), rel=2e-3)


def test_a_figure_without_a_rhythm_has_no_correction(run: Run) -> None:
    waited(run, 3.0, 900)
    figure = result_of(PlainWait, run.history())
    assert (figure.corrected, figure.hdr_corrected, figure.expected_interval, figure.rate) == (None, None, None, None)
    assert figure.best == figure.uncorrected


def test_what_a_stall_suppressed_is_filled_in_beside_what_was_seen(run: Run) -> None:
    waited(run, 3.0, 450)
    figure = result_of(TurnWait, run.history())
    assert values(figure) == about(450)
    assert figure.hdr_corrected is not None
    # 450 kept three more from asking, who would have waited 350, 250 and 150; 50 is less than the interval.
    assert Histogram.decode(figure.hdr_corrected) == Histogram.of([150_000, 250_000, 350_000, 450_000])
    assert figure.corrected is not None
    assert (figure.uncorrected.n, figure.corrected.n, figure.best.n) == (1, 4, 4)


def test_values_are_told_by_behaviour_and_by_window(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.call(2.0, ev.CallStarted, "c001-0000", caller=1, behaviour="barge_in", planned_ns=ns(2.0))
    waited(run, 59.0, 10)
    waited(run, 61.0, 20, "c001-0000")
    waited(run, 62.0, 30, "c001-0000")
    run.stop(100.0)
    figure = result_of(PlainWait, run.history())
    assert {name: stats.n for name, stats in figure.by_behaviour.items()} == {"barge_in": 2, "polite": 1}
    assert [(window.begin_s, window.stats.n) for window in figure.bins] == [(0.0, 1), (60.0, 2)]
    assert figure.bin_s == 60.0


def test_a_long_run_has_at_most_200_windows(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    day_s = 24 * 3_600
    for at_s in range(10, day_s, 60):
        waited(run, at_s, 10)
    run.stop(day_s)
    figure = result_of(PlainWait, run.history())
    assert figure.bin_s == 480.0
    assert len(figure.bins) == 180
    assert sum(window.stats.n for window in figure.bins) == figure.n == day_s // 60


def test_a_figure_without_values_has_none_and_no_zero(run: Run) -> None:
    run.turn_ended(3.0, ev.Outcome.LOST)
    figure = result_of(TurnWait, run.history())
    assert (figure.n, figure.unavailable, figure.bins, figure.by_behaviour) == (0, {"turn lost": 1}, [], {})
    stats = figure.uncorrected
    assert {stats.mean, stats.std, stats.min, stats.p50, stats.p99, stats.max} == {None}
    assert figure.rate == Rate("long", 0, 0, None)


def test_a_value_of_zero_is_a_value(run: Run) -> None:
    waited(run, 3.0, 0)
    figure = result_of(TurnWait, run.history())
    assert (figure.n, figure.uncorrected.p50, figure.uncorrected.max) == (1, 0.0, 0.0)
    assert figure.rate == Rate("long", 0, 1, 0.0)


def test_a_stall_of_6_s_shows_in_the_corrected_p99_and_not_in_the_uncorrected(run: Run) -> None:
    """101 seconds of sound, a second at a time, and a stall of 6 s once: in it five more were due."""
    at_s = 10.0
    for chunk in range(102):
        run.audio(at_s, samples=24_000)
        at_s += 6.0 if chunk == 50 else 1.0
    figure = result_of(ChunkGap, run.history())
    assert figure.corrected is not None
    # Of 101 values the 100th is 1 s; of these and 5, 4, 3, 2 and 1 s the 105th is 5 s.
    assert figure.uncorrected.p99 == pytest.approx(1_000, rel=1e-3)
    assert figure.corrected.p99 is not None
    assert figure.corrected.p99 >= 5_000
    assert figure.corrected.max == figure.uncorrected.max == pytest.approx(6_000, rel=1e-3)


def test_a_crashed_measure_has_no_values_and_says_why(run: Run) -> None:
    figure = Figure.crashed(TurnWait, run.history(), "KeyError('x') in see, line 7")
    assert (figure.n, figure.unavailable) == (0, {"the measure itself crashed: KeyError('x') in see, line 7": 1})


def test_values_counted_in_bulk_are_the_values_added_one_by_one() -> None:
    draw = random.Random(4)
    values = [draw.choice((-5, 0, 7, 2_500, draw.randrange(10**7))) for _ in range(3 * FLUSH_VALUES)]
    bulk, single = Table(), Table()
    for slot, piece in enumerate((values[:10], values[10:])):
        bulk.count(slot, piece)
        for value in piece:
            single.add(slot, value)
    assert bulk.histogram() == single.histogram()
    assert bulk.histogram(window=0) == Histogram.of(values[:10])
    assert bulk.windows() == [0, 1]
