"""What the engines' flight recorders say of each moment that went wrong: sentences, and the records on demand."""

from rig.clock import to_ms, to_s
from rig.history import History
from rig.recorder.folder import not_recorded
from rig.recorder.timeline import Timeline, Timelines
from rig.report.html.markup import Markup, el, joined

NOTHING_WRONG = (
    "No process died and no turn hung: nothing to look back at. `rig recorder` prints what was recorded last."
)


def render(history: History, found: Timelines) -> Markup:
    """One part for each moment; a sentence where there is none."""
    if not found.timelines:
        why = not_recorded(history)
        text = NOTHING_WRONG if why is None else f"Not recorded: {why}."
        return joined([el("p", text, class_="note"), *_problems(found)])
    return joined([*_problems(found), *(_moment(history, one) for one in found.timelines)])


def _problems(found: Timelines) -> list[Markup]:
    return [el("p", f"Not all could be read: {problem}.", class_="note") for problem in found.problems]


def _moment(history: History, one: Timeline) -> Markup:
    told = one.sentences or ("No engine recorded anything.",)
    return el(
        "article",
        el("h3", f"Before {to_s(one.moment.t_ns - history.origin_ns):.3f} s: {one.moment.what}"),
        el("ul", *(el("li", sentence) for sentence in told)),
        _records(history, one) if one.entries else None,
    )


def _records(history: History, one: Timeline) -> Markup:
    """Short tags and no attributes on the cells: a moment has up to a thousand lines."""
    rows = joined(
        el(
            "tr",
            el("td", f"{to_s(entry.t_ns - history.origin_ns):.4f}"),
            el("td", f"{to_ms(entry.t_ns - one.moment.t_ns):.1f}"),
            el("td", entry.who),
            el("td", el("b", entry.what) if entry.own else entry.what),
        )
        for entry in one.entries
    )
    heads = joined(el("th", name, scope="col") for name in ("s", "ms to it", "who", "what"))
    caption = "What the stages recorded and, in bold, what callers did"
    table = el("table", el("caption", caption), el("thead", el("tr", heads)), el("tbody", rows))
    ids = [el("dt", short) + el("dd", full) for short, full in one.requests]
    return el(
        "details",
        el("summary", f"{len(one.entries)} records of all stages and callers, in order of time"),
        el("div", table, class_="scroll records", tabindex="0", role="region", aria_label=caption),
        el("p", "Requests by their full names:", class_="note") if ids else None,
        el("dl", *map(Markup, ids), class_="ids") if ids else None,
    )
