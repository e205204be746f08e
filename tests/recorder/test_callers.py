from pathlib import Path

from rig.events import types as ev
from rig.fold import result_of
from rig.recorder.callers import CallerLog
from tests.builders import Run
from tests.recorder.rings import GONE, SESSION, HandRing


def a_call(run: Run) -> None:
    run.ready(1.0)
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5, session_id=SESSION)
    run.spoke(30.0, 31.0)
    run.act(32.0, ev.Act.HANG_UP_RST)
    run.close(32.0)


def test_acts_and_sessions_of_the_time_of_the_rings_are_kept(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    a_call(run)
    HandRing(run.folder).add(29.0, GONE)
    found = result_of(CallerLog, run.history())
    assert found.calls == {SESSION: "c000-0000"}
    assert [act.what.split(" after")[0] for act in found.acts] == [
        "begins to speak, turn 0", "hang_up_rst", "connection closed by caller",
    ]  # fmt: skip
    assert [act.on_purpose for act in found.acts] == [False, True, False]


def test_what_came_before_the_oldest_record_is_kept_for_ten_seconds(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    a_call(run)
    HandRing(run.folder).add(12.0, GONE)
    acts = result_of(CallerLog, run.history()).acts
    assert f"session created: {SESSION}" in [act.what for act in acts]


def test_without_rings_nothing_is_kept(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    a_call(run)
    found = result_of(CallerLog, run.history())
    assert (found.acts, dict(found.calls)) == ((), {})
