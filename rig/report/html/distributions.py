"""The figures as the page shows them. What a figure holds is read here and nowhere else on the page."""

from collections.abc import Sequence
from dataclasses import dataclass

from rig.measure.figure import Figure
from rig.report.html.markup import Markup, el, joined, table
from rig.report.html.svg import number

STRIP_UNITS = 180
POINTS = {"p50": "new_session", "p95": "known", "p99": "log"}


@dataclass(frozen=True)
class Numbers:
    """One distribution."""

    n: int
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None


@dataclass(frozen=True)
class View:
    """One figure: what was seen and, where there is one, the same corrected for what stalls kept from happening."""

    name: str
    origin: str
    unit: str
    uncorrected: Numbers
    corrected: Numbers | None
    unavailable: dict[str, int]

    @property
    def best(self) -> Numbers:
        """Corrected where there is a correction."""
        return self.uncorrected if self.corrected is None else self.corrected


def view_of(figure: Figure) -> View:
    """The adapter."""
    seen = Numbers(figure.n, figure.p50_ms, figure.p95_ms, figure.p99_ms, figure.max_ms)
    return View(figure.name, figure.measurement_origin, "ms", seen, None, figure.unavailable)


def render(figures: Sequence[Figure]) -> Markup:
    """The table, a strip of each distribution, and where each figure is measured from and to."""
    views = [view_of(figure) for figure in figures]
    head = ("figure", "", "n", "p50", "p95", "p99", "max", "0 to max", "no value for")
    rows = [cells for view in views for cells in _rows(view)]
    caption = "Distributions; corrected ones count what a stall kept callers from asking for"
    origins = [joined([el("dt", view.name), el("dd", view.origin)]) for view in views]
    return joined(
        [
            table(head, rows, caption=caption, numbers=frozenset({2, 3, 4, 5, 6})),
            _legend(),
            el("h3", "Measured from … to"),
            el("dl", *origins, class_="origins"),
        ]
    )


def _rows(view: View) -> list[tuple[str | Markup, ...]]:
    missing = ", ".join(f"{count} {why}" for why, count in view.unavailable.items()) or "none"
    top = max(view.best.max or 0, view.uncorrected.max or 0)
    first = view.uncorrected
    rows = [(view.name, "as seen", *_cells(first, view.unit), _strip(first, top), missing)]
    if view.corrected is not None:
        rows.append(
            ("", "corrected", *_cells(view.corrected, view.unit), _strip(view.corrected, top, "dashed"), "")
        )  # fmt: skip
    return rows


def _cells(numbers: Numbers, unit: str) -> tuple[str, ...]:
    values = (numbers.p50, numbers.p95, numbers.p99, numbers.max)
    return (str(numbers.n), *(told(value, unit) for value in values))


def told(value: float | None, unit: str) -> str:
    """A value with its unit; a dash where there is none."""
    if value is None:
        return "-"
    return (
        f"{value:,.0f} ms" if unit == "ms" else f"{value:.3g} {unit}".replace("ratio", "").replace("count", "").strip()
    )


def _strip(numbers: Numbers, top: float, css: str = "") -> Markup:
    if numbers.max is None or top <= 0:
        return el("span", "no value", class_="none")
    scale = STRIP_UNITS / top
    parts = [el("path", d=f"M0 8H{number(numbers.max * scale)}M{number(numbers.max * scale)} 3V13", class_=css or None)]
    for name, shape in POINTS.items():
        value = getattr(numbers, name)
        parts.append(el("use", href=f"#g-{shape}", x=number(value * scale - 6), y=2, width=12, height=12, class_=name))
    return el("svg", *parts, class_="strip", viewBox=f"-8 0 {STRIP_UNITS + 16} 16", aria_hidden="true")


def _legend() -> Markup:
    parts = [
        el("span", el("svg", el("use", href=f"#g-{shape}"), class_=f"g {name}", aria_hidden="true"), f" {name}")
        for name, shape in POINTS.items()
    ]
    return el(
        "p", "In the strips: ", *(joined([part, " "]) for part in parts), "and a bar at the maximum.", class_="key"
    )
