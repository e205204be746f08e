"""What a run died of, in a few words that are the same for every run with the same fault."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rig.events.types import ProcessDied

API_SERVER = "api_server"
TAIL_BYTES = 256 * 1024
FATAL = "encountered a fatal error"
_FRAME = re.compile(r'File "[^"]*", line \d+, in (?P<function>\S+)')
_EXCEPTION = re.compile(r"(?:^|\] )(?P<name>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit))(?::.*)?$")
_SECOND_HAND = frozenset({"EngineDeadError", "EngineGenerateError"})
"""Raised by those who find another process dead: never the cause."""


def cause_of(deaths: Sequence[ProcessDied], logs: Path) -> str:
    """The process that died, with its exception and function (`thinker: KeyError in _update_after_schedule`), or how.

    Empty for a run without a death. `logs` holds the server's log by process.
    """
    if not deaths:
        return ""
    # The API server dies of its engines more often than by itself, and what dies at once is told the oldest first.
    for death in sorted(deaths, key=lambda death: death.stage == API_SERVER):
        told = exception_in(_log_of(death, logs)) or exception_in(death.last_lines)
        if told:
            return f"{death.stage}: {told}"
    first = deaths[0]
    ended = f"killed by {first.signal}" if first.signal else f"exited with status {first.exit_status}"
    return f"{first.stage}: {ended if first.signal or first.exit_status is not None else 'died'}"


def exception_in(lines: Sequence[str]) -> str:
    """What a process died of, from its log: an exception with the function that raised it; empty for none.

    The first one after the line with which an engine core announces its end, without such a line the last one.
    """
    end = next((place for place, line in enumerate(lines) if FATAL in line), None)
    found = list(_exceptions(lines[end or 0 :]))
    return "" if not found else found[-1 if end is None else 0]


def _exceptions(lines: Iterable[str]) -> Iterator[str]:
    """Every exception that ends a traceback."""
    function = ""
    for line in lines:
        if frame := _FRAME.search(line):
            function = frame["function"]
        elif (found := _EXCEPTION.search(line.rstrip())) and function:
            name = found["name"].rpartition(".")[2]
            if name not in _SECOND_HAND:
                yield f"{name} in {function}"
            function = ""


def _log_of(death: ProcessDied, logs: Path) -> list[str]:
    """The end of the log of one process."""
    lines: list[str] = []
    for path in sorted(logs.glob(f"*-{death.pid}.log")):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            lines += file.read().decode(errors="replace").splitlines()
    return lines
