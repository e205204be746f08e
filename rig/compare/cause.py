"""What a run died of, in a few words that are the same for every run with the same fault."""

from collections.abc import Sequence
from pathlib import Path

from rig.events.types import ProcessDied
from rig.last_words import exception_in

API_SERVER = "api_server"
TAIL_BYTES = 256 * 1024


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


def _log_of(death: ProcessDied, logs: Path) -> list[str]:
    """The end of the log of one process."""
    lines: list[str] = []
    for path in sorted(logs.glob(f"*-{death.pid}.log")):
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL_BYTES))
            lines += file.read().decode(errors="replace").splitlines()
    return lines
