"""Runs for the tests of the page: one in which all is well, and ones in which something goes wrong."""

import json
from pathlib import Path

from rig.clock import from_s
from rig.events import types as ev
from rig.history import EVENTS_DIR
from rig.report.judgement import Judgement, judge_folder
from tests.builders import ORIGIN_NS, Run

MIB = 1 << 20


def sound(folder: Path) -> Run:
    """A caller speaks, is answered, barges in, hangs up and comes back; memory is sampled; nothing goes wrong."""
    run = Run(folder)
    run.ready(1.0)
    for at_s in range(1, 20, 3):
        for pid, stage in ((101, "thinker"), (102, "talker")):
            run.rig(float(at_s), ev.MemorySampled, pid=pid, stage=stage, rss_bytes=(900 + at_s) * MIB)
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.1)
    run.spoke(3.0, 5.0)
    run.audio(6.5, samples=24_000)
    run.act(7.0, ev.Act.BARGE_IN_CANCEL)
    run.server_says(7.02, "response.done", "cancelled")
    run.turn_ended(7.02, ev.Outcome.CUT)
    run.act(9.0, ev.Act.HANG_UP_RST)
    run.close(9.0)
    run.connect(10.0, connection=1, why=ev.Connect.NEW_SESSION, ready_s=10.1)
    run.spoke(11.0, 12.0, turn=1, connection=1)
    run.audio(14.0, turn=1, connection=1, response_id="r1")
    run.turn_ended(15.0, ev.Outcome.DONE, turn=1)
    run.close(16.0, connection=1)
    run.call(16.0, ev.CallEnded, outcome=ev.Outcome.DONE, detail="")
    return run


def with_death(folder: Path, **fields: object) -> Run:
    """The talker dies 3.5 s after the caller hung up, and 2.5 s after they came back."""
    run = sound(folder)
    run.dies(12.5, **fields)
    run.stop(20.0, ev.EndReason.ENGINE_LOST, "talker died")
    return run


def with_stuck_turn(folder: Path, call: str = "c001-0003") -> Run:
    """A second caller speaks until 13 s and is never answered."""
    run = sound(folder)
    run.start_call(11.0, call, caller=1)
    run.connect(11.0, call, ready_s=11.2)
    run.call(12.0, ev.UtteranceStarted, call, turn=0, utterance="short", planned_ns=0)
    run.call(13.0, ev.UtteranceEnded, call, turn=0, planned_ns=1_000_000_000 + from_s(13))
    run.turn_ended(21.0, ev.Outcome.NO_REPLY, call)
    run.close(21.0, call)
    run.call(21.0, ev.CallEnded, call, outcome=ev.Outcome.NO_REPLY, detail="")
    run.stop(30.0)
    return run


def judged(run: Run) -> Judgement:
    """The run, read back and judged."""
    run.history()
    set_clocks(run.folder)
    return judge_folder(run.folder)


def set_clocks(folder: Path) -> None:
    """Give the journals of a run the times of the run, so that its end is known."""
    for path in (folder / EVENTS_DIR).iterdir():
        _set_clock(path)


def _set_clock(path: Path) -> None:
    """Move what a journal stamps with the real clock, its first and last line, into the run: its end is then known."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    times = [line["t_ns"] for line in lines if line["type"] not in ("header", "journal_closed")]
    for line in lines:
        if line["type"] == "header":
            line |= {"t_ns": ORIGIN_NS, "wall_ns": 0}
        elif line["type"] == "journal_closed":
            line["t_ns"] = max(times)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
