"""What every report of a run says first when published faults were put back into the engines."""

from collections.abc import Sequence
from pathlib import Path

from rig.history import History
from rig.report.summary import provenance


def engine_bugs(history: History) -> list[str]:
    """The bugs that were put back, as the run's provenance names them; none where nobody knows."""
    found = provenance(history).get("engine_bugs")
    return [str(name) for name in found] if isinstance(found, list) else []


def sentence(names: Sequence[str]) -> str:
    """What was put back, so that nobody takes it for the released engine."""
    shown = ", ".join(Path(name).name for name in names)
    return f"ENGINE BUGS PUT BACK: {shown}. This server was broken on purpose; the run says nothing about the release."


def banner(history: History) -> str | None:
    """The sentence for a run with bugs; None for any other."""
    names = engine_bugs(history)
    return sentence(names) if names else None
