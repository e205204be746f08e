"""Paths for plots of binned values. One unit in x is one bin, so that zooming is a change of the view box alone."""

from collections.abc import Sequence
from math import ceil, floor, log10

from rig.report.html.markup import Markup, el

HEIGHT = 100
"""Units in y of every plot."""

GLYPHS = {
    "death": "M2 2L10 10M10 2L2 10",
    "pause": "M4 2V10M8 2V10",
    "log": "M6 1.5L11 10.5H1Z",
    "stuck": "M2 1.5H10L2 10.5H10Z",
    "lost": "M1.5 6H4.5M7.5 6H10.5M5 9L7 3",
    "refused": "M6 1.5A4.5 4.5 0 1 1 5.99 1.5ZM3 9L9 3",
    "barge_in_speech": "M1.5 2.5H10.5L6 10.5Z",
    "barge_in_cancel": "M2.5 2.5H9.5V9.5H2.5Z",
    "hang_up": "M2 2H10M6 2V10.5",
    "resume": "M6 2.5A3.5 3.5 0 1 1 5.99 2.5ZM6 4.5V7.5M4.5 6H7.5",
    "new_session": "M6 2.5A3.5 3.5 0 1 1 5.99 2.5Z",
    "late_sound": "M1.5 6H4L6 2.5L8 9.5L9 6H10.5",
    "known": "M6 2L10 6L6 10L2 6Z",
}
"""One shape for each kind of mark: none is told apart by colour alone."""


def glyph_of(kind: str) -> str:
    """The name of the shape for an act or an incident."""
    return "hang_up" if kind.startswith("hang_up") else kind


def symbols() -> Markup:
    """The definitions of all shapes."""
    parts = [el("symbol", el("path", d=path), id=f"g-{name}", viewBox="0 0 12 12") for name, path in GLYPHS.items()]
    return el("svg", *parts, class_="defs", aria_hidden="true", width=0, height=0)


def glyph(kind: str) -> Markup:
    """One shape."""
    return el("svg", el("use", href=f"#g-{glyph_of(kind)}"), class_=f"g {glyph_of(kind)}", aria_hidden="true")


def plot(width: float, *shapes: Markup, css: str = "z") -> Markup:
    """A plot of `width` bins, stretched to its place on the page. Those of class z are zoomed by the page's script."""
    box = f"0 0 {number(width)} {HEIGHT}"
    return el("svg", *shapes, class_=css, viewBox=box, preserveAspectRatio="none", aria_hidden="true")


def step_path(values: Sequence[float | None], top: float) -> str:
    """A line of steps; it has gaps where values are None."""
    parts: list[str] = []
    last: float | None = None
    for place, value in enumerate(values):
        if value is None:
            if last is not None:
                parts.append(f"H{place}")
        elif last is None:
            parts.append(f"M{place} {_y(value, top)}")
        elif value != last:
            parts.append(f"H{place}V{_y(value, top)}")
        last = value
    if last is not None:
        parts.append(f"H{len(values)}")
    return "".join(parts)


def bars_path(counts: Sequence[float | None], top: float) -> str:
    """Bars that stand on the ground; neighbours of one height are one bar."""
    parts: list[str] = []
    begin = 0
    for place in range(1, len(counts) + 1):
        if place < len(counts) and counts[place] == counts[begin]:
            continue
        value = counts[begin]
        if value:
            parts.append(f"M{begin} {HEIGHT}V{_y(value, top)}H{place}V{HEIGHT}Z")
        begin = place
    return "".join(parts)


def rect(begin: float, end: float, *, y: float, height: float, css: str, title: str) -> Markup:
    """A bar from one bin to another, with a text for the pointer."""
    return el(
        "rect",
        el("title", title),
        x=number(begin),
        width=number(max(end - begin, 0)),
        y=number(y),
        height=number(height),
        class_=css,
    )


def nice_top(values: Sequence[float | None]) -> float:
    """The end of a scale from 0 that holds all values: 1, 2 or 5 times a power of ten."""
    largest = max((value for value in values if value is not None), default=0)
    if largest <= 0:
        return 1
    power = 10.0 ** floor(log10(largest))
    return next(power * step for step in (1, 2, 3, 5, 10) if power * step >= largest * 0.999999)


def ticks(span: float, wanted: int = 8) -> list[float]:
    """Round moments in seconds, about so many, from 0 to the end."""
    steps = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
    step = next((step for step in steps if span / step <= wanted), ceil(span / wanted / 86400) * 86400)
    return [index * step for index in range(floor(span / step) + 1)]


def clock_label(at_s: float) -> str:
    """A moment for people: 12 s, 3:20 or 2:05:00."""
    if at_s < 60:
        return f"{at_s:g} s"
    minutes, rest = divmod(round(at_s), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def number(value: float) -> str:
    """A coordinate, as short as two decimals allow."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _y(value: float, top: float) -> str:
    return number(HEIGHT - min(value / top, 1) * (HEIGHT - 4))
