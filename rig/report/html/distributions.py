"""The figures as the page shows them: as seen and corrected, by behaviour, and over time."""

from collections.abc import Sequence

from rig.measure.figure import Figure, Stats, Unit
from rig.report.html.markup import Markup, el, joined, table
from rig.report.html.svg import clock_label, nice_top, number, plot, step_path

STRIP_UNITS = 180
CORRECTED = (
    "Corrected for coordinated omission: where callers ask in a rhythm, what a stall kept them from asking for counts "
    "as well. Where both lines are alike, no wait was longer than the rhythm."
)
POINTS = {"p50": "new_session", "p95": "known", "p99": "log"}


def render(figures: Sequence[Figure]) -> Markup:
    """Everything, the table first."""
    origins = [joined([el("dt", figure.name), el("dd", _origin(figure))]) for figure in figures]
    return joined(
        [
            _all(figures),
            _legend(),
            el("p", CORRECTED, class_="note"),
            _rates(figures),
            el("h3", "By behaviour"),
            _by_behaviour(figures),
            *_over_time(figures),
            el("h3", "Measured from … to"),
            el("dl", *origins, class_="origins"),
        ]
    )


def told(value: float | None, unit: Unit) -> str:
    """A value with its unit; a dash where there is none."""
    if value is None:
        return "-"
    match unit:
        case "ms":
            return f"{value:,.0f} ms"
        case "s":
            return f"{value:,.2f} s"
        case "count":
            return f"{value:,.0f}"
        case "ratio":
            return f"{value:.2f}"


def _all(figures: Sequence[Figure]) -> Markup:
    head = ("figure", "", "n", "p50", "p95", "p99", "max", "0 to max", "no value for")
    rows = [cells for figure in figures for cells in _rows(figure)]
    return table(head, rows, caption="Distributions over the whole run", numbers=frozenset({2, 3, 4, 5, 6}))


def _rows(figure: Figure) -> list[tuple[str | Markup, ...]]:
    missing = ", ".join(f"{count:,} {why}" for why, count in figure.unavailable.items()) or "none"
    seen, corrected = figure.uncorrected, figure.corrected
    top = max(figure.best.max or 0, seen.max or 0)
    rows = [(figure.name, "as seen", *_cells(seen, figure.unit), _strip(seen, top), missing)]
    if corrected is not None:
        rows.append(("", "corrected", *_cells(corrected, figure.unit), _strip(corrected, top, "dashed"), ""))
    return rows


def _cells(stats: Stats, unit: Unit) -> tuple[str, ...]:
    return (f"{stats.n:,}", *(told(value, unit) for value in (stats.p50, stats.p95, stats.p99, stats.max)))


def _strip(stats: Stats, top: float, css: str | None = None) -> Markup:
    if stats.max is None or top <= 0:
        return el("span", "no value" if stats.max is None else "all 0", class_="none")
    scale = STRIP_UNITS / top
    end = number(stats.max * scale)
    points = [
        el("use", href=f"#g-{shape}", x=number(value * scale - 6), y=2, width=12, height=12)
        for value, shape in zip((stats.p50, stats.p95, stats.p99), POINTS.values(), strict=True)
        if value is not None
    ]
    line = el("path", d=f"M0 8H{end}M{end} 3V13", class_=css)
    return el("svg", line, *points, class_="strip", viewBox=f"-8 0 {STRIP_UNITS + 16} 16", aria_hidden="true")


def _legend() -> Markup:
    parts = [
        el("span", el("svg", el("use", href=f"#g-{shape}"), class_="g", aria_hidden="true"), name)
        for name, shape in POINTS.items()
    ]
    return el("p", "In the strips: ", *parts, "and a bar at the maximum; corrected lines are dashed.", class_="key")


def _rates(figures: Sequence[Figure]) -> Markup | None:
    rows = [
        (rate.name, "-" if rate.value is None else f"{100 * rate.value:.1f} %", f"{rate.hits:,} of {rate.cases:,}")
        for rate in (figure.rate for figure in figures)
        if rate is not None
    ]
    return table(("rate", "value", "cases"), rows, caption="Rates", numbers=frozenset({1, 2})) if rows else None


def _by_behaviour(figures: Sequence[Figure]) -> Markup:
    names = sorted({name for figure in figures for name in figure.by_behaviour})
    rows = [
        (figure.name, *(_short(figure.by_behaviour.get(name), figure.unit) for name in names))
        for figure in figures
        if figure.n > 0
    ]
    caption = "p50, p99 and number of values by behaviour; corrected where the figure is"
    return table(("figure", *names), rows, caption=caption, numbers=frozenset(range(1, len(names) + 1)))


def _short(stats: Stats | None, unit: Unit) -> str:
    if stats is None or stats.n == 0:
        return "-"
    return f"{told(stats.p50, unit)}, {told(stats.p99, unit)} ({stats.n:,})"


def _over_time(figures: Sequence[Figure]) -> list[Markup]:
    """A small plot for each figure that has values in several windows."""
    plots = [_windows(figure) for figure in figures if len(figure.bins) > 1]
    if not plots:
        return []
    note = f"p50 solid, p99 dashed, by windows of {figures[0].bin_s:g} s; corrected where the figure is."
    return [el("h3", "Over time"), el("p", note, class_="note"), el("div", *plots, class_="small")]


def _windows(figure: Figure) -> Markup:
    by_place = {round(each.begin_s / figure.bin_s): each.stats for each in figure.bins}
    length = max(by_place) + 1
    found = [by_place.get(place) for place in range(length)]
    p50, p99 = ([None if each is None else getattr(each, name) for each in found] for name in ("p50", "p99"))
    top = nice_top(p99)
    lines = [
        el("path", d=step_path(p50, top), class_="stroke"),
        el("path", d=step_path(p99, top), class_="stroke p99"),
    ]
    # Not of the class that zooms: this plot has a time axis of its own.
    drawing = plot(length, *lines, css="still")
    label = el("span", f"0 to {told(top, figure.unit)}, 0 to {clock_label(length * figure.bin_s)}", class_="note")
    return el("figure", el("figcaption", el("b", figure.name), " ", label), el("div", drawing, class_="plot"))


def _origin(figure: Figure) -> str:
    every = "" if figure.expected_interval is None else f"; expected every: {figure.expected_interval}"
    return figure.measurement_origin + every
