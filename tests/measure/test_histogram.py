"""Our histogram is an HdrHistogram: same buckets, same payload, merged without loss."""

import random

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.errors import RigError
from rig.measure.histogram import HIGHEST, Histogram, indices_of, lowest_of, width_of

VALUES = st.lists(st.integers(min_value=0, max_value=HIGHEST), max_size=50)


def package(values: list[int]) -> HdrHistogram:
    """The same values in the package's histogram."""
    histogram = HdrHistogram(1, HIGHEST, 3)
    for value in values:
        assert histogram.record_value(value)
    return histogram


def drawn(seed: int, count: int = 3_000) -> list[int]:
    draw = random.Random(seed)
    return [round(10 ** (draw.random() * 10.5)) for _ in range(count)]


@settings(deadline=None)
@given(VALUES)
def test_every_value_lies_in_its_bucket_and_no_bucket_is_wider_than_a_thousandth(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    lowest, width = lowest_of(indices_of(array)), width_of(indices_of(array))
    assert ((lowest <= array) & (array < lowest + width)).all()
    assert ((width == 1) | (width * 1_000 <= lowest)).all()


def test_statistics_are_those_of_the_package() -> None:
    values = drawn(1)
    ours, theirs = Histogram.of(values), package(values)
    assert ours.n == theirs.get_total_count()
    assert ours.min() == theirs.get_min_value()
    assert ours.max() == theirs.get_max_value()
    assert ours.mean() == pytest.approx(theirs.get_mean_value(), rel=1e-9)
    assert ours.std() == pytest.approx(theirs.get_stddev(), rel=1e-9)
    for percent in (1, 50, 90, 99):
        # 3000 values: the rank is whole, so that every rounding of it agrees.
        assert ours.percentile(percent) == theirs.get_value_at_percentile(percent)


@pytest.mark.parametrize("values", [[], [0], [HIGHEST], [5, 5, 5, 2_048], drawn(2)], ids=str)
def test_the_package_reads_our_payload_and_we_read_the_packages(values: list[int]) -> None:
    ours = Histogram.of(values)
    decoded = HdrHistogram.decode(ours.encode())
    assert decoded.get_total_count() == len(values)
    theirs = package(values)
    counts = [theirs.get_count_at_value(value) for value in values]
    assert [decoded.get_count_at_value(value) for value in values] == counts
    assert Histogram.decode(decoded.encode()) == ours
    assert Histogram.decode(package(values).encode()) == ours
    assert Histogram.decode(ours.encode()) == ours


@settings(deadline=None)
@given(VALUES, VALUES)
def test_merging_loses_nothing(first: list[int], second: list[int]) -> None:
    merged = Histogram.of(first) + Histogram.of(second)
    assert merged == Histogram.of([*first, *second])
    assert merged.n == len(first) + len(second)


def test_payloads_of_two_runs_merge_as_the_package_merges_them() -> None:
    both = package(drawn(3))
    both.decode_and_add(Histogram.of(drawn(4)).encode())
    assert Histogram.decode(both.encode()) == Histogram.of([*drawn(3), *drawn(4)])


def test_a_percentile_is_the_nearest_rank() -> None:
    # 1 to 10: rank is ceil(10 * p / 100), so p50 is the 5th, p95 and p99 the 10th, p10 the 1st, p11 the 2nd.
    histogram = Histogram.of(range(1, 11))
    assert [histogram.percentile(percent) for percent in (0, 10, 11, 50, 95, 99, 100)] == [1, 1, 2, 5, 10, 10, 10]


def test_nothing_has_no_statistics() -> None:
    empty = Histogram.of([])
    assert (empty.n, empty.mean(), empty.std(), empty.min(), empty.max(), empty.percentile(50)) == (0, *[None] * 5)


@pytest.mark.parametrize("payload", ["", "AAAA", "hello, world", "é", HdrHistogram(1, 1_000, 2).encode().decode()])
def test_a_payload_of_another_kind_is_refused(payload: str) -> None:
    with pytest.raises(RigError):
        Histogram.decode(payload)
