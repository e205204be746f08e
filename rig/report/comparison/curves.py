"""Distributions laid over each other: the value at each percentile, with the tail drawn as wide as the middle.

The axis is that of HdrHistogram's percentile plots: every step to the right is a part of what is left, so that 90 %,
99 % and 99.9 % are as far from each other as 0 % and 90 %. A line ends where its values end: with 40 values nothing is
known of the 99th percentile.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rig.measure.histogram import Histogram
from rig.report.comparison.content import Compared
from rig.report.comparison.words import told
from rig.report.html import svg
from rig.report.html.markup import Markup, el, joined
from rig.report.pool import scaled

COLUMNS_PER_DECADE = 100
MARKS = (0, 50, 90, 95, 99, 99.9, 99.99, 99.999)


@dataclass(frozen=True)
class Curves:
    """One plot: for each column its percentile, and for each side its values (None beyond its last)."""

    percents: list[float]
    values: list[list[float | None]]

    @property
    def top(self) -> float:
        """The end of the scale, which begins at 0."""
        return svg.nice_top([value for line in self.values for value in line])


def curves_of(figure: Compared) -> Curves:
    """The curves of a figure that has values on some side."""
    columns = max(_columns(each.n) for each in figure.histograms)
    percents = [100 * (1 - 10 ** (-(column + 0.5) / COLUMNS_PER_DECADE)) for column in range(columns)]
    return Curves(percents, [_line(each, percents, figure) for each in figure.histograms])


def render(place: int, figure: Compared, curves: Curves, letters: Sequence[str]) -> Markup:
    """The plot with its axis; the page's script reads numbers out of it."""
    columns = len(curves.percents)
    lines = [
        el("path", d=svg.step_path(line, curves.top), class_=f"stroke side-{letter}")
        for letter, line in zip(letters, curves.values, strict=True)
    ]
    marks = [(_column(mark) / columns, f"{mark:g} %") for mark in MARKS if _column(mark) < columns * 0.97]
    grid = [el("i", class_="line", style=_left(at)) for at, _ in marks]
    labels = [el("span", text, class_="tick", style=_left(at)) for at, text in marks]
    drawing = joined(
        [
            *grid,
            svg.plot(columns, *lines, css="still"),
            el("span", told(curves.top, figure.unit), class_="top", aria_hidden="true"),
        ]
    )
    title = el(
        "figcaption", el("b", figure.name), f" {figure.kind} ", el("span", _counts(figure, letters), class_="note")
    )
    body = el(
        "div", drawing, class_="plot", tabindex="0", role="img", data_plot=place, aria_label=_aloud(figure, letters)
    )
    return el(
        "figure",
        title,
        body,
        el("div", *labels, class_="axis", aria_hidden="true"),
        el("output", "", class_="scripted note"),
    )


def readout(figures: Sequence[tuple[Compared, Curves]], letters: Sequence[str]) -> list[dict[str, object]]:
    """What the page's script needs to say the numbers at a place, in the order of the plots."""
    return [
        {
            "unit": figure.unit,
            "letters": list(letters),
            "percents": [float(f"{percent:.5g}") for percent in curves.percents],
            "values": [[None if value is None else float(f"{value:.5g}") for value in line] for line in curves.values],
        }
        for figure, curves in figures
    ]


def _columns(n: int) -> int:
    """How many columns a curve of so many values has: to the middle of its last value's share."""
    return max(1, math.ceil(_column(100 * (1 - 1 / (2 * n))))) if n > 0 else 0


def _column(percent: float) -> float:
    return -math.log10(1 - percent / 100) * COLUMNS_PER_DECADE


def _line(histogram: Histogram, percents: Sequence[float], figure: Compared) -> list[float | None]:
    ends = _columns(histogram.n)
    found = [histogram.percentile(percent) for percent in percents[:ends]]
    line: list[float | None] = [None if value is None else scaled(value, figure.unit) for value in found]
    return line + [None] * (len(percents) - ends)


def _counts(figure: Compared, letters: Sequence[str]) -> str:
    return ", ".join(f"{letter}: {seen:,}" for letter, seen in zip(letters, figure.seen, strict=True)) + " values"


def _aloud(figure: Compared, letters: Sequence[str]) -> str:
    parts = [
        f"{letter}: p50 {told(stats.p50, figure.unit)}, p95 {told(stats.p95, figure.unit)}"
        for letter, stats in zip(letters, figure.stats, strict=True)
    ]
    return f"{figure.name} {figure.kind}, value by percentile; {'; '.join(parts)}"


def _left(share: float) -> str:
    return f"left:{svg.number(100 * share)}%"
