"""Figures of several runs as one, without loss; and how many values a percentile needs."""

import pytest

from rig.measure.figure import Rate
from rig.measure.histogram import Histogram
from rig.report.digest import Digest, Measured
from rig.report.pool import enough, needed, pool
from rig.verdict import Verdict


def digest(*measures: Measured) -> Digest:
    return Digest("run", Verdict.PASS, "PASS: fine", (), 0, {}, 1, 1, 0, 0, 0, 1.0, measures, {})


def measured(values: list[int], corrected: list[int] | None = None, **fields: object) -> Measured:
    told = {"unavailable": {}, "rate": None} | fields
    extra = None if corrected is None else Histogram.of(corrected).encode()
    return Measured("first_audio", "ms", "a to b", Histogram.of(values).encode(), extra, **told)  # type: ignore[arg-type]


def test_pooled_is_what_one_run_with_all_values_would_have_been() -> None:
    left, right = list(range(1_000, 50_000, 700)), list(range(2_000, 900_000, 11_000))
    pooled = pool([digest(measured(left)), digest(measured(right))])["first_audio"]
    assert pooled.seen == Histogram.of([*left, *right])
    assert pooled.n == len(left) + len(right)
    assert pooled.corrected is None


def test_corrected_values_are_pooled_apart_and_are_the_better_ones() -> None:
    parts = [digest(measured([1_000], [1_000, 5_000])), digest(measured([2_000], [2_000]))]
    pooled = pool(parts)["first_audio"]
    assert pooled.best == Histogram.of([1_000, 2_000, 5_000])
    assert (pooled.n, pooled.stats().n) == (2, 3)


def test_reasons_and_rates_are_added() -> None:
    parts = [
        digest(measured([1], unavailable={"turn lost": 2}, rate=Rate("yield", 1, 2, 0.5))),
        digest(measured([1], unavailable={"turn lost": 1, "turn cut": 1}, rate=Rate("yield", 2, 2, 1.0))),
    ]
    pooled = pool(parts)["first_audio"]
    assert pooled.unavailable == {"turn lost": 3, "turn cut": 1}
    assert pooled.rate == Rate("yield", 3, 4, 0.75)


@pytest.mark.parametrize(
    ("statistic", "count"), [("p50", 10), ("p90", 50), ("p95", 100), ("p99", 500), ("p999", 5_000), ("max", 10)]
)
def test_a_percentile_needs_five_values_beyond_it(statistic: str, count: int) -> None:
    assert needed(statistic) == count
    assert enough(statistic, count)
    assert not enough(statistic, count - 1)
