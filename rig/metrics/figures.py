"""Figures as histograms in Prometheus' sense, by scenario."""

from collections.abc import Iterable

from rig.measure.figure import Measure
from rig.measure.histogram import Histogram
from rig.metrics.board import Board, Buckets
from rig.metrics.catalogue import COUNTS, SCALE, Metric, figure_metric


def figures_board(measures: Iterable[Measure]) -> Board:
    """What measures have found so far. Edges of buckets and sums are right to 0.1 %: figures keep no more digits."""
    board = Board()
    for measure in measures:
        kind, measured = type(measure), measure.measured
        plain = figure_metric(kind)
        for name, place in measured.behaviours.items():
            seen = measured.raw.histogram(behaviour=place)
            board.put(plain.name, _buckets(plain, seen), name)
            if kind.expected_interval is not None:
                whole = seen + measured.filled.histogram(behaviour=place)
                corrected = figure_metric(kind, corrected=True)
                board.put(corrected.name, _buckets(corrected, whole), name)
        for reason, count in measured.unavailable.items():
            board.count("rig_unmeasured", kind.name, reason, by=count)
        if kind.rate_name is not None:
            for held, name in ((True, "yes"), (False, "no")):
                board.count("rig_rate_cases", kind.rate_name, name, by=measured.hits[held])
    return board


def _buckets(metric: Metric, values: Histogram) -> Buckets:
    cumulative = values.up_to([edge / SCALE for edge in metric.buckets])
    counts = [now - before for before, now in zip([0, *cumulative], [*cumulative, values.n], strict=True)]
    total = (values.mean() or 0.0) * values.n * SCALE
    return Buckets(counts, float(round(total)) if metric.buckets is COUNTS else total)
