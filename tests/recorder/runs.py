"""Run folders with rings, in which something went wrong."""

from pathlib import Path

from rig.events import types as ev
from rig.events.ring import Queue
from tests.builders import Run
from tests.recorder.rings import GONE, SESSION, STAYS, HandRing


def zombie(folder: Path) -> Run:
    """A caller hung up, the request was aborted in skipped_waiting, scheduled all the same, and the thinker died."""
    run = Run(folder)
    run.ready(1.0)
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5, session_id=SESSION)
    run.spoke(3.0, 4.0)
    run.act(5.0, ev.Act.HANG_UP_RST)
    run.close(5.0)
    thinker, talker = HandRing(run.folder, 0), HandRing(run.folder, 1)
    thinker.add(2.6, GONE)
    thinker.add(2.7, STAYS)
    thinker.schedule(3.0, 1, GONE, STAYS)
    thinker.update(3.1, 1)
    thinker.abort(5.025, GONE, Queue.SKIPPED_WAITING, after=Queue.RUNNING)
    thinker.schedule(5.037, 2, GONE, STAYS)
    thinker.writer.error(round((1 + 5.0372) * 1e9), GONE, f"schedule: KeyError: '{GONE}'")
    talker.schedule(4.0, 9, STAYS)
    talker.update(4.5, 9)
    died = {"pid": 101, "stage": "thinker", "title": "thinker", "expected": False, "last_lines": ["KeyError"]}
    run.rig(6.0, ev.ProcessDied, exit_status=1, signal=None, **died)
    run.stop(10.0, ev.EndReason.ENGINE_LOST, "thinker died")
    return run


def hang(folder: Path) -> Run:
    """A call's request waits in code2wav for a chunk that never comes, while another call's steps go on."""
    run = Run(folder)
    run.ready(1.0)
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5, session_id=SESSION)
    run.spoke(3.0, 4.0)
    run.turn_ended(12.0, ev.Outcome.NO_REPLY)
    wav = HandRing(run.folder, 2)
    wav.add(3.5, GONE)
    for number in range(1, 251):
        wav.schedule(4.0 + number * 0.03, number, STAYS)
        wav.update(4.01 + number * 0.03, number)
    wav.schedule(20.0, 999, STAYS)
    run.stop(30.0)
    return run
