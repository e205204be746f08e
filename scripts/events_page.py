"""Writes docs/events.md from the event types: `.venv/bin/python scripts/events_page.py`.

A house test fails when the page is not what this makes of the types.
"""

import inspect
import types
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from rig.events import types as ev

PAGE = Path(__file__).resolve().parent.parent / "docs" / "events.md"

HEAD = f"""# Events

What the journals of a run hold: JSON lines, one event a line, in `events/*.jsonl` of a run folder. Made from
`rig/events/types.py` by `scripts/events_page.py`; schema {ev.SCHEMA_VERSION}.

Every event has `type`, `seq` (counts from 0 per producer without a gap) and `t_ns` (when it happened; for what arrives,
when the socket was read). Events of a call also have `call` and `connection` (counts the call's connections from 0). A
field that is null was not available; it is never 0 instead. The end of a name is its unit.
"""

UNITS = {
    "_ns": "nanoseconds",
    "_us": "microseconds",
    "_ms": "milliseconds",
    "_bytes": "bytes",
    "_ticks": "clock ticks since boot",
    "_sha256": "hexadecimal",
}
MOMENTS = {"t_ns", "planned_ns", "first_planned_ns"}
"""Nanoseconds on the host's monotonic clock, not a duration."""

SAMPLES = "samples at 24 kHz"


def render() -> str:
    """The whole page."""
    kinds = list(get_args(ev.AnyEvent))
    blocks = [HEAD, *(_section(kind) for kind in kinds), "## Values", *map(_values, _enums(kinds)), _mark_run()]
    return "\n".join(block.rstrip("\n") + "\n" for block in blocks)


def _section(kind: type[ev.Event]) -> str:
    own = [field for field in msgspec.structs.fields(kind) if field.name not in _inherited(kind)]
    tag = kind.__struct_config__.tag
    of_call = " Of a call." if issubclass(kind, ev.CallEvent) else ""
    return f"## `{tag}`\n\n{inspect.getdoc(kind)}{of_call}\n\n{_table(own, get_type_hints(kind))}"


def _mark_run() -> str:
    fields = msgspec.structs.fields(ev.MarkRun)
    return f"### MarkRun\n\n{inspect.getdoc(ev.MarkRun)} An array of:\n\n{_table(fields, get_type_hints(ev.MarkRun))}"


def _inherited(kind: type[ev.Event]) -> set[str]:
    base = ev.CallEvent if issubclass(kind, ev.CallEvent) else ev.Event
    return {field.name for field in msgspec.structs.fields(base)}


def _table(fields: Any, hints: dict[str, Any]) -> str:
    rows = [f"| `{field.name}` | {_type(hints[field.name])} | {_unit(field.name)} |" for field in fields]
    return "\n".join(["| field | type | unit |", "| --- | --- | --- |", *rows]) if rows else "No fields of its own."


def _unit(name: str) -> str:
    if name in MOMENTS:
        return "nanoseconds, monotonic clock"
    if name == "wall_ns":
        return "nanoseconds since the Unix epoch"
    if name in ("samples", "unreadable"):
        return SAMPLES
    return next((unit for suffix, unit in UNITS.items() if name.endswith(suffix)), "")


def _type(hint: Any) -> str:
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join("null" if part is type(None) else _type(part) for part in get_args(hint))
    if get_origin(hint) is list:
        return f"list of {_type(get_args(hint)[0])}"
    names = {int: "integer", str: "text", bool: "true or false"}
    return names.get(hint, getattr(hint, "__name__", str(hint)))


def _enums(kinds: list[type[ev.Event]]) -> list[Any]:
    found = {hint for kind in kinds for hint in get_type_hints(kind).values() if isinstance(hint, type(ev.Phase))}
    return sorted(found, key=lambda enum: enum.__name__)


def _values(enum: Any) -> str:
    return f"### {enum.__name__}\n\n{inspect.getdoc(enum)} One of {', '.join(f'`{value}`' for value in enum)}."


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
