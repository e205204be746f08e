"""Bins: nothing is lost when they get wider, and memory does not grow with the length of a run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.clock import NS_PER_MS, NS_PER_S
from rig.report.html.bins import FIRST_WIDTH_NS, MAX_BINS, Axis, Counts, Peaks, Waits, bucket_of

ORIGIN_NS = 10**12


def test_a_short_run_has_narrow_bins() -> None:
    axis = Axis(ORIGIN_NS)
    assert axis.place(ORIGIN_NS + NS_PER_S) == 4
    assert axis.width_s == 0.25


def test_a_day_fits_into_the_bins_that_there_are() -> None:
    axis = Axis(ORIGIN_NS)
    assert axis.place(ORIGIN_NS + 86_400 * NS_PER_S) < MAX_BINS
    assert axis.width_s == 64


def test_what_came_before_the_origin_is_in_the_first_bin() -> None:
    assert Axis(ORIGIN_NS).place(ORIGIN_NS - 5 * NS_PER_S) == 0


@given(st.lists(st.integers(min_value=0, max_value=100_000 * NS_PER_S), min_size=1, max_size=50))
def test_counts_in_widened_bins_are_those_of_bins_that_were_wide_from_the_start(times_ns: list[int]) -> None:
    grown = Axis(ORIGIN_NS, max_bins=64)
    counts = Counts(grown)
    for t_ns in times_ns:
        counts.add(ORIGIN_NS + t_ns)
    wide = Axis(ORIGIN_NS, grown.width_ns, max_bins=64)
    expected = Counts(wide)
    for t_ns in times_ns:
        expected.add(ORIGIN_NS + t_ns)
    assert counts.values(64) == expected.values(64)
    assert sum(counts.values(64)) == len(times_ns)


def test_peaks_keep_the_largest_and_tell_an_empty_bin_from_zero() -> None:
    axis = Axis(0, NS_PER_S, max_bins=4)
    peaks = Peaks(axis)
    for at_s, value in ((0, 5.0), (1, 7.0), (3, 0.0), (7, 1.0)):
        peaks.add(at_s * NS_PER_S, value)
    assert peaks.values(4) == [7.0, 0.0, None, 1.0]


def test_waits_give_nearest_rank_percentiles_by_bin() -> None:
    waits = Waits(Axis(0, NS_PER_S, max_bins=4))
    for ms in range(1, 101):
        waits.add(0, ms * NS_PER_MS)
    waits.add(2 * NS_PER_S, 3_000 * NS_PER_MS)
    p50, p99 = waits.percentiles_ms(3, 50), waits.percentiles_ms(3, 99)
    assert p50 == [pytest.approx(50, rel=0.02), None, pytest.approx(3_000, rel=0.02)]
    assert p99 == [pytest.approx(99, rel=0.02), None, pytest.approx(3_000, rel=0.02)]


def test_waits_of_two_bins_are_one_distribution_when_the_bins_are_put_together() -> None:
    axis = Axis(0, NS_PER_S, max_bins=2)
    waits = Waits(axis)
    waits.add(0, 100 * NS_PER_MS)
    waits.add(0, 100 * NS_PER_MS)
    waits.add(NS_PER_S, 900 * NS_PER_MS)
    axis.place(3 * NS_PER_S)
    assert waits.percentiles_ms(2, 50) == [pytest.approx(100, rel=0.02), None]
    assert waits.percentiles_ms(2, 99) == [pytest.approx(900, rel=0.02), None]


@given(st.integers(min_value=NS_PER_MS, max_value=600 * NS_PER_S))
def test_a_bucket_is_two_percent_wide(wait_ns: int) -> None:
    assert bucket_of(int(wait_ns * 1.021)) > bucket_of(wait_ns)


def test_no_wait_at_all_has_a_bucket() -> None:
    assert bucket_of(0) == bucket_of(NS_PER_MS) == 0


def test_the_first_width_is_a_quarter_of_a_second() -> None:
    assert FIRST_WIDTH_NS * 4 == NS_PER_S
