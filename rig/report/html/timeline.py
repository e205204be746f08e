"""The timeline: one row a subject, all over the same time, drawn whole; the page's script zooms by changing the view.

Without script, and in print, it is the same figure of the whole run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rig.clock import from_s, to_s
from rig.events import types as ev
from rig.events.types import Phase
from rig.explained import unexplained
from rig.history import History
from rig.report.html import svg
from rig.report.html.bins import Axis
from rig.report.html.gather import SERIES, Gathered
from rig.report.html.incidents import KINDS, Incident
from rig.report.html.lanes import Dot, Span
from rig.report.html.markup import Markup, el, joined
from rig.report.html.stages import Life, lives_of, memory_by_stage

LIFELINES_SHOWN = 24
KNOWN_SHOWN = 200

Values = Sequence[float | None]


@dataclass(frozen=True)
class Row:
    """One row: its name, its plot, what stands at its right end, and the numbers behind it for the readout."""

    name: str
    note: str
    body: Markup
    right: str = ""
    css: str = ""
    values: dict[str, Values] = field(default_factory=dict)
    unit: str = ""
    width_s: float | None = None
    """Width of the bins of `values` where it is not that of the scale."""


@dataclass(frozen=True)
class Scale:
    """Seconds since the run began to bins, and to percent of the whole run."""

    width_s: float
    span_s: float

    @property
    def bins(self) -> float:
        """Length of the run in bins."""
        return self.span_s / self.width_s

    def x(self, at_s: float) -> float:
        """A moment in bins."""
        return at_s / self.width_s

    def left(self, at_s: float) -> str:
        """A moment as a CSS position."""
        return f"left:{svg.number(100 * at_s / self.span_s)}%"


def scale_of(history: History, gathered: Gathered) -> Scale:
    """The scale of a run; a run of no length is given one bin."""
    span_s = to_s(history.last_ns - history.origin_ns)
    return Scale(gathered.width_s, max(span_s, gathered.width_s))


def rows_of(history: History, gathered: Gathered, incidents: Sequence[Incident]) -> list[Row]:
    """All rows, from what the run did to what each caller did."""
    scale = scale_of(history, gathered)
    return [
        _phases(history, scale),
        _incidents(history, gathered, incidents, scale),
        *_lifelines(lives_of(history), scale),
        *_first_audio(gathered, scale),
        _bars("calls in progress", "at the end of each bin", gathered.running, scale),
        *(_bars(name, "", gathered.counts[name], scale, name) for name in SERIES),
        *_memory(history, gathered, scale),
        *_lanes(history, gathered.lanes.by_caller() or {}, scale),
    ]


def render(rows: Sequence[Row], scale: Scale) -> Markup:
    """The rows below their axis."""
    labels = joined(
        el("span", svg.clock_label(at_s), class_="tick", style=scale.left(at_s)) for at_s in svg.ticks(scale.span_s)
    )
    lines = joined(el("i", class_="line", style=scale.left(at_s)) for at_s in svg.ticks(scale.span_s))
    return joined(
        [
            el("div", lines, id="grid", aria_hidden="true"),
            el("div", el("div", "", class_="lab"), el("div", labels, id="ticks", class_="axis"), class_="row head"),
            *(_row(place, row) for place, row in enumerate(rows)),
        ]
    )


def readout(rows: Sequence[Row], scale: Scale) -> dict[str, object]:
    """What the page's script needs: the scale and each row's numbers, short."""
    values = {
        str(place): {
            "u": row.unit,
            "w": row.width_s or scale.width_s,
            "s": {name: [_short(value) for value in line] for name, line in row.values.items()},
        }
        for place, row in enumerate(rows)
        if row.values
    }
    return {"width": scale.width_s, "span": scale.span_s, "rows": values}


def _short(value: float | None) -> float | int | None:
    if value is None:
        return None
    return int(value) if float(value).is_integer() or value >= 100 else round(value, 1)


def _row(place: int, row: Row) -> Markup:
    name = el("div", row.name, el("small", row.note) if row.note else None, class_="lab")
    right = el("output", row.right, class_="val", data_at_rest=row.right)
    return el("div", name, el("div", row.body, class_="plot"), right, class_=f"row {row.css}".strip(), data_row=place)


def _mark(scale: Scale, at_s: float, kind: str, text: str, href: str | None = None) -> Markup:
    tag = "span" if href is None else "a"
    x = svg.number(scale.x(at_s))
    label = el("span", text, class_="sr") if href is not None else None
    return el(
        tag, svg.glyph(kind), label, class_="mark", style=scale.left(at_s), data_x=x, title=text, href=href
    )  # fmt: skip


def _phases(history: History, scale: Scale) -> Row:
    begins = [(0.0, Phase.BOOT), *_later_phases(history)]
    ends = [*(at_s for at_s, _ in begins[1:]), scale.span_s]
    parts = [
        el(
            "span",
            str(phase),
            class_=f"phase {phase}",
            style=f"{scale.left(begin)};width:{svg.number(100 * (end - begin) / scale.span_s)}%",
            data_x=svg.number(scale.x(begin)),
            data_x2=svg.number(scale.x(end)),
            title=f"{phase}: {begin:.1f} s to {end:.1f} s",
        )
        for (begin, phase), end in zip(begins, ends, strict=True)
        if end > begin
    ]
    return Row("phase of the run", "", joined(parts), css="phases")


def _later_phases(history: History) -> list[tuple[float, Phase]]:
    return [
        (to_s(event.t_ns - history.origin_ns), event.phase)
        for event in history.of(ev.PhaseEntered)
        if event.phase is not Phase.BOOT
    ]


def _incidents(history: History, gathered: Gathered, incidents: Sequence[Incident], scale: Scale) -> Row:
    marks = [
        _mark(scale, at_s, incident.kind, f"{KINDS[incident.kind]} at {at_s:.2f} s: {incident.what}", f"#i{place}")
        for place, incident in enumerate(incidents)
        for at_s in (incident.at_s,)
    ]
    logged = [event for event in history.of(ev.LogSignature) if not event.expected]
    left = {id(event) for event in unexplained(logged, gathered.early_hang_ups_ns)}
    known = [event for event in logged if id(event) not in left]
    for event in known[:KNOWN_SHOWN]:
        at_s = to_s(event.t_ns - history.origin_ns)
        marks.append(_mark(scale, at_s, "known", f"known and without harm, {event.stage}: {event.signature}"))
    right = f"{len(incidents)} in all" if incidents else "none"
    return Row("incidents", "what went wrong; follow a mark", joined(marks), right, "marks")


def _lifelines(lives: Sequence[Life], scale: Scale) -> list[Row]:
    return [_lifeline(life, scale) for life in lives[:LIFELINES_SHOWN]]


def _lifeline(life: Life, scale: Scale) -> Row:
    end_s = scale.span_s if life.to_s is None else life.to_s
    name = f"{life.stage}, pid {life.pid}"
    bars = [
        svg.rect(scale.x(life.from_s), scale.x(end_s), y=30, height=40, css="alive", title=f"{name}: {life.how}"),
    ]
    marks = []
    for begin_s, pause_end_s in life.pauses:
        until_s = end_s if pause_end_s is None else pause_end_s
        text = f"{name} paused from {begin_s:.1f} s to {until_s:.1f} s"
        bars.append(svg.rect(scale.x(begin_s), scale.x(until_s), y=15, height=70, css="paused", title=text))
        marks.append(_mark(scale, begin_s, "pause", text))
    if life.died and life.to_s is not None:
        marks.append(_mark(scale, life.to_s, "death", f"{name} {life.how} at {life.to_s:.2f} s"))
    right = "died" if life.died else "paused" if life.pauses else "lived"
    return Row(life.stage, f"pid {life.pid}", joined([svg.plot(scale.bins, *bars), *marks]), right, "life")


def _first_audio(gathered: Gathered, scale: Scale) -> list[Row]:
    p50, p99 = gathered.first_audio_p50_ms, gathered.first_audio_p99_ms
    top = svg.nice_top(p99)
    paths = (
        (svg.bars_path(p99, top), "area p99"),
        (svg.step_path(p99, top), "stroke p99"),
        (svg.bars_path(p50, top), "area p50"),
        (svg.step_path(p50, top), "stroke p50"),
    )
    stretch = f"scale({svg.number(gathered.wait_width_s / gathered.width_s)} 1)"
    shapes = [el("path", d=path, class_=css, transform=stretch) for path, css in paths]
    largest = max((value for value in p99 if value is not None), default=None)
    right = "no value" if largest is None else f"p99 ≤ {largest:.0f} ms"
    note = f"p50 dark, p99 light and dashed, bins of {gathered.wait_width_s:g} s; a gap: nobody was answered"
    values: dict[str, Values] = {"p50": p50, "p99": p99, "turns": gathered.answered}
    body = joined([svg.plot(scale.bins, *shapes), _scale_label(f"{top:g} ms")])
    return [Row("first audio", note, body, right, "tall", values, "ms", gathered.wait_width_s)]


def _scale_label(text: str) -> Markup:
    return el("span", text, class_="top", aria_hidden="true")


def _bars(name: str, note: str, counts: Sequence[int], scale: Scale, css: str = "") -> Row:
    top = svg.nice_top(counts)
    body = svg.plot(scale.bins, el("path", d=svg.bars_path(counts, top), class_="bars"))
    total = sum(counts)
    right = f"≤ {max(counts, default=0)}" if css == "" else f"{total} in all" if total else "none"
    return Row(name, note, body, right, f"count {css.replace(' ', '-')}".strip(), {"": counts})


def _memory(history: History, gathered: Gathered, scale: Scale) -> list[Row]:
    axis = Axis(history.origin_ns, from_s(gathered.width_s))
    by_stage = {stage: peaks.values(gathered.bins) for stage, peaks in memory_by_stage(history, axis).items()}
    top = svg.nice_top([value for values in by_stage.values() for value in values])
    return [_memory_row(stage, values, top, scale) for stage, values in by_stage.items()]


def _memory_row(stage: str, sampled: Values, top: float, scale: Scale) -> Row:
    held = _held(sampled)
    area = el("path", d=svg.bars_path(held, top), class_="area memory")
    body = svg.plot(scale.bins, area, el("path", d=svg.step_path(held, top), class_="stroke"))
    known = [value for value in sampled if value is not None]
    right = f"≤ {max(known):.0f} MiB" if known else "not sampled"
    return Row(f"memory of {stage}", f"RSS, 0 to {top:g} MiB", body, right, "count memory", {"": held}, "MiB")


def _held(values: Values) -> Values:
    """Between two samples the earlier one stands: bins may be narrower than the time between samples."""
    held: list[float | None] = []
    last_place = max((place for place, value in enumerate(values) if value is not None), default=-1)
    current: float | None = None
    for place, value in enumerate(values):
        current = current if value is None else value
        held.append(current if place <= last_place else None)
    return held


def _lanes(history: History, lanes: Mapping[int, tuple[Sequence[Span], Sequence[Dot]]], scale: Scale) -> list[Row]:
    return [_lane(history, caller, spans, dots, scale) for caller, (spans, dots) in lanes.items()]


_LANE_PLACES = {"session": (42.0, 16.0), "speech": (12.0, 30.0), "reply": (58.0, 30.0)}


def _lane(history: History, caller: int, spans: Sequence[Span], dots: Sequence[Dot], scale: Scale) -> Row:
    def x(t_ns: int) -> float:
        return scale.x(to_s(t_ns - history.origin_ns))

    bars = [
        svg.rect(x(span.from_ns), x(span.to_ns), y=y, height=height, css=span.kind, title=span.text)
        for span in spans
        for y, height in (_LANE_PLACES[span.kind],)
    ]
    marks = [
        _mark(scale, at_s, dot.kind, f"{at_s:.2f} s, {dot.text}")
        for dot in dots
        for at_s in (to_s(dot.t_ns - history.origin_ns),)
    ]
    note = "line: session; above: speaks; below: hears"
    return Row(f"caller {caller}", note, joined([svg.plot(scale.bins, *bars), *marks]), f"{len(dots)} acts", "lane")
