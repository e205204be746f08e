"""Totals count what happened, over all, by behaviour and by window."""

from pathlib import Path
from typing import Any

from rig.events import types as ev
from rig.events.types import Act, Outcome
from rig.fold import result_of
from rig.measure.totals import TotalsFold
from tests.builders import Run, ns


def test_calls_turns_acts_sessions_and_sound_are_counted(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(1.0)
    run.call(1.0, ev.CallStarted, "c001-0000", caller=1, behaviour="barge_in", planned_ns=ns(1.0))
    run.connect(1.0, ready_s=1.5)
    run.connect(2.0, connection=1, ready_s=2.5, resumed=True)
    run.refuse(3.0, "c001-0000")
    frames: dict[str, Any] = {"first_planned_ns": ns(3.0), "interval_ns": 100_000_000, "slips_us": [0, 0, 0]}
    run.call(3.0, ev.FramesSent, **frames)
    run.audio(4.0, samples=480)
    run.turn_ended(5.0, Outcome.DONE)
    run.turn_ended(65.0, Outcome.CUT, "c001-0000")
    run.act(6.0, Act.BARGE_IN_SPEECH)
    run.call(9.0, ev.CallEnded, outcome=Outcome.DONE, detail="")
    totals = result_of(TotalsFold, run.history())
    assert totals.callers == {0, 1}
    assert totals.behaviours == {"polite": 1, "barge_in": 1}
    assert totals.calls == {Outcome.DONE: 1}
    assert totals.turns == {Outcome.DONE: 1, Outcome.CUT: 1}
    assert totals.turns_by_behaviour == {"polite": {Outcome.DONE: 1}, "barge_in": {Outcome.CUT: 1}}
    assert totals.turns_by_window == {0: {Outcome.DONE: 1}, 1: {Outcome.CUT: 1}}
    assert (totals.sessions, totals.resumed, totals.refused, totals.barge_ins) == (1, 1, 1, 1)
    assert (totals.samples, totals.spoken_ns) == (480, 300_000_000)
