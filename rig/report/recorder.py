"""What the flight recorders say, as text: for report.md and for `rig recorder`."""

from collections.abc import Iterator

from rig.clock import to_ms, to_s
from rig.history import History
from rig.recorder.timeline import Timeline, Timelines
from rig.report.blocks import fenced, items, plain

TITLE = "What the engines did last"


def blocks(history: History, found: Timelines) -> list[str]:
    """The part of report.md; nothing in a run where nothing died and nothing hung."""
    if not found.timelines and not found.problems:
        return []
    parts = [f"## {TITLE}", *(f"Not all could be read: {plain(problem)}." for problem in found.problems)]
    for one in found.timelines:
        parts.append(f"### Before {at(history, one)}: {plain(one.moment.what)}")
        parts.append(items(one.sentences) or "No engine recorded anything.")
        if one.entries:
            lines = fenced(lines_of(history, one))
            parts.append(f"<details><summary>{len(one.entries)} records</summary>\n\n{lines}\n\n</details>")
    return parts


def at(history: History, one: Timeline) -> str:
    """When it was, in seconds since the run began."""
    return f"{to_s(one.moment.t_ns - history.origin_ns):.3f} s"


def lines_of(history: History, one: Timeline) -> Iterator[str]:
    """The timeline line by line: seconds since the run began, milliseconds to the moment, who, what."""
    width = max((len(entry.who) for entry in one.entries), default=0)
    for entry in one.entries:
        seconds = to_s(entry.t_ns - history.origin_ns)
        before = to_ms(entry.t_ns - one.moment.t_ns)
        mark = ">" if entry.own else " "
        yield f"{seconds:10.4f} {before:10.1f} ms {mark} {entry.who:{width}}  {entry.what}"
    for short, full in one.requests:
        yield f"{short} = {full}"


def render(history: History, found: Timelines) -> str:
    """All of it for a terminal."""
    parts: list[str] = [f"note: {problem}" for problem in found.problems]
    for one in found.timelines:
        parts.append(f"before {at(history, one)}: {one.moment.what}")
        parts += lines_of(history, one)
        parts += [f"* {sentence}" for sentence in one.sentences]
    return "\n".join(parts)
