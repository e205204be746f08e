"""Sides of a comparison from runs written by hand."""

import json
from pathlib import Path
from typing import Any

from rig.events import types as ev
from rig.report.comparison import Side
from tests.builders import Run

HARDWARE = {"cpu": "one", "architecture": "x86_64", "cores": 2.0, "memory_gib": 15.5, "gpus": []}


def run_of(folder: Path, waits_ms: list[int], *, hardware: dict[str, Any] | None = HARDWARE, **made: Any) -> Path:
    """A run in which a caller speaks once for each wait and is answered after it; one beyond 5 s is not answered."""
    run = Run(folder, **made)
    run.ready(1.0)
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.1)
    for turn, wait_ms in enumerate(waits_ms):
        begin_s = 3.0 + 8 * turn
        run.spoke(begin_s, begin_s + 1, turn=turn)
        if wait_ms > 5_000:
            run.turn_ended(begin_s + 7, ev.Outcome.NO_REPLY, turn=turn, response_id=None)
            continue
        heard_s = begin_s + 1 + wait_ms / 1_000
        run.audio(heard_s, turn=turn, response_id=f"r{turn}", samples=24_000)
        run.turn_ended(heard_s + 0.5, ev.Outcome.DONE, turn=turn, response_id=f"r{turn}")
    end_s = 4.0 + 8 * len(waits_ms)
    run.close(end_s)
    run.call(end_s, ev.CallEnded, outcome=ev.Outcome.DONE, detail="")
    run.stop(end_s + 10)
    provenance: dict[str, Any] = {"versions": {"locust": "2.47.0"}, "host": folder.name}
    if hardware is not None:
        provenance["hardware"] = hardware
    (folder / "provenance.json").write_text(json.dumps(provenance))
    run.history()
    return folder


def sides(folder: Path, left: list[int], right: list[int], **made: Any) -> list[Side]:
    """One run a side."""
    return [
        Side("before", [run_of(folder / "before", left)]),
        Side("after", [run_of(folder / "after", right, **made)]),
    ]
