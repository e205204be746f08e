"""Lanes: what one caller did and heard, as spans and dots, as long as there are few enough."""

from pathlib import Path

from rig.report.html import lanes
from rig.report.html.lanes import Dot, Lanes, Span
from tests.builders import Run, ns
from tests.report.html.runs import sound


def lanes_of(run: Run) -> Lanes:
    made = Lanes()
    for calls in run.history().calls():
        for call in calls:
            made.see(call)
    return made


def test_a_lane_holds_sessions_speech_and_replies(tmp_path: Path) -> None:
    found = lanes_of(sound(tmp_path / "run")).by_caller()
    assert found is not None
    spans, _ = found[0]
    assert [(span.kind, span.from_ns, span.to_ns) for span in spans] == [
        ("session", ns(2.1), ns(9.0)),
        ("session", ns(10.1), ns(16.0)),
        ("speech", ns(3.0), ns(5.0)),
        ("speech", ns(11.0), ns(12.0)),
        ("reply", ns(6.5), ns(6.5)),
        ("reply", ns(14.0), ns(14.0)),
    ]


def test_a_lane_marks_acts_returns_and_refusals_and_no_goodbye(tmp_path: Path) -> None:
    from rig.events.types import Act

    run = sound(tmp_path / "run")
    run.refuse(12.0, "c000-0000", connection=2)
    run.act(16.0, Act.SAY_GOODBYE)
    found = lanes_of(run).by_caller()
    assert found is not None
    assert sorted(found[0][1], key=lambda dot: dot.t_ns) == [
        Dot("barge_in_cancel", ns(7.0), "c000-0000: barge_in_cancel"),
        Dot("hang_up_rst", ns(9.0), "c000-0000: hang_up_rst"),
        Dot("new_session", ns(10.0), "c000-0000: comes back"),
        Dot("refused", ns(12.0), "c000-0000: refused, resource_exhausted"),
    ]


def test_speech_that_a_hang_up_broke_off_ends_there(tmp_path: Path) -> None:
    from rig.events.types import UtteranceStarted

    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.call(3.0, UtteranceStarted, turn=0, utterance="story", planned_ns=0)
    run.close(4.0)
    found = lanes_of(run).by_caller()
    assert found is not None
    assert found[0][0] == [Span("speech", ns(3.0), ns(4.0), "c000-0000: says story")]


def test_lanes_come_in_order_of_the_callers(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    for caller in (2, 0, 1):
        run.start_call(1.0 + caller, f"c00{caller}-0000", caller=caller)
    found = lanes_of(run).by_caller()
    assert found is not None
    assert list(found) == [0, 1, 2]


def test_a_run_with_too_many_callers_has_no_lanes(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    for caller in range(lanes.MAX_CALLERS + 1):
        run.start_call(1.0, f"c{caller:03d}-0000", caller=caller)
    assert lanes_of(run).by_caller() is None


def test_a_run_with_too_many_pieces_has_no_lanes(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(1.0)
    for index in range(lanes.MAX_PIECES + 1):
        run.refuse(2.0 + index / 1000, "c000-0000", connection=index)
    assert lanes_of(run).by_caller() is None
