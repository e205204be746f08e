"""The log of acts: what was done between two moments, by whom, however the calls came in."""

from pathlib import Path
from typing import Any

from rig.events import types as ev
from rig.history import Call
from rig.report.html.acts import ActLog, Done
from tests.builders import Run, ns


def logged(run: Run) -> ActLog:
    log = ActLog()
    calls: list[Call] = [call for some in run.history().calls() for call in some]
    for call in reversed(calls):
        log.see(call)
    return log


def test_acts_of_several_calls_come_in_order_of_time(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    for call, at_s in (("c000-0000", 2.0), ("c001-0000", 1.0)):
        run.start_call(at_s, call)
        run.act(at_s + 1.5, ev.Act.BARGE_IN_CANCEL, call)
    acts = logged(run).between(ns(0), ns(10))
    assert acts == [
        Done(ns(2.5), "c001-0000", "barge_in_cancel", 40),
        Done(ns(3.5), "c000-0000", "barge_in_cancel", 40),
    ]


def test_both_ends_belong_to_what_is_asked_for_and_nothing_beyond(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(1.0)
    for at_s in (2.0, 3.0, 4.0, 5.0):
        run.act(at_s, ev.Act.HANG_UP_FIN)
    assert [act.t_ns for act in logged(run).between(ns(3.0), ns(4.0))] == [ns(3.0), ns(4.0)]


def test_calling_and_coming_back_are_acts_and_a_second_attempt_is_not(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(1.0)
    run.connect(1.0)
    run.connect(2.0, connection=1, why=ev.Connect.RESUME)
    again: dict[str, Any] = {"why": ev.Connect.RESUME, "attempt": 2, "planned_ns": 0}
    run.call(2.5, ev.ConnectStarted, connection=2, **again)
    run.connect(3.0, connection=3, why=ev.Connect.NEW_SESSION)
    acts = logged(run).between(ns(0), ns(10))
    assert [act.kind for act in acts] == ["call", "resume", "new_session"]
    assert {act.after_audio_ms for act in acts} == {None}


def test_a_log_without_acts_answers_with_none(tmp_path: Path) -> None:
    assert logged(Run(tmp_path / "run")).between(0, ns(10)) == []
