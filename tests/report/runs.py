"""Run folders to report on."""

from pathlib import Path

from rig.events import types as ev
from tests.builders import Run


def whole(folder: Path) -> Run:
    """A run with one call that was answered; every check but rig_validity and audio has what it needs."""
    run = Run(folder)
    run.ready(1.0)
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5)
    run.spoke(3.0, 4.0)
    run.audio(5.0, samples=24_000, marks=[ev.MarkRun(11, 0, 0, 25)])
    run.server_says(5.5, "response.done", "completed")
    run.turn_ended(5.5, ev.Outcome.DONE)
    run.call(3.0, ev.FramesSent, first_planned_ns=0, interval_ns=100_000_000, slips_us=[0] * 10)
    run.close(6.0)
    run.call(6.0, ev.CallEnded, outcome=ev.Outcome.DONE, detail="")
    run.stop(10.0)
    return run
