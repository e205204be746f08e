"""The faults of the golden server, one a file: the explicit table, and how a fault is written on the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields

from rig.errors import UsageError
from rig.golden.faults.base import Fault

__all__ = ["FAULTS", "Entry", "Fault", "parse"]


@dataclass(frozen=True)
class Entry:
    """A row of the table: `check` is the check of rig.checks that has to fail, None where none sees it yet."""

    make: type[Fault]
    does: str
    check: str | None


FAULTS: Mapping[str, Entry] = {
    "none": Entry(Fault, "nothing: the control of every trial", None),
}


def parse(specs: Sequence[str]) -> list[tuple[str, Fault]]:
    """Faults from NAME[:key=value,...]. Raises UsageError for a name, key or value that is not known."""
    return [_parse(spec) for spec in specs]


def settings_of(make: type[Fault]) -> dict[str, type]:
    """The settings of a fault and their types."""
    return {one.name: type(one.default) for one in fields(make) if one.init and one.default is not MISSING}


def listing() -> str:
    """The table as text."""
    lines = []
    for name, entry in FAULTS.items():
        shown = ", ".join(f"{one.name}={one.default}" for one in fields(entry.make) if one.init)
        seen = entry.check or "no check yet"
        lines.append(f"{name}: {entry.does}\n    seen by: {seen}; settings: {shown}")
    return "\n".join(lines)


def _parse(spec: str) -> tuple[str, Fault]:
    name, _, rest = spec.partition(":")
    if name not in FAULTS:
        raise UsageError(f"unknown fault {name!r}; known: {', '.join(FAULTS)}")
    make = FAULTS[name].make
    known = settings_of(make)
    values: dict[str, float | int] = {}
    for part in rest.split(",") if rest else []:
        key, equals, value = part.partition("=")
        if key not in known or not equals:
            raise UsageError(f"fault {name}: {part!r} is none of its settings; known: {', '.join(known)}")
        try:
            values[key] = known[key](value)
        except ValueError as error:
            raise UsageError(f"fault {name}: {key}={value!r} is no {known[key].__name__}") from error
    return name, make(**values)  # type: ignore[arg-type]
