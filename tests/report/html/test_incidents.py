"""Incidents: everything that went wrong, in order, each with what the callers did before."""

from pathlib import Path

from rig.events import types as ev
from rig.fold import result_of
from rig.report.html.gather import Gather
from rig.report.html.incidents import ACTS_SHOWN, KEPT, Incident, incidents_of
from tests.builders import Run
from tests.report.html.runs import sound, with_death, with_stuck_turn


def found(run: Run) -> list[Incident]:
    history = run.history()
    return incidents_of(history, result_of(Gather, history))


def test_a_run_in_which_all_is_well_has_none(tmp_path: Path) -> None:
    run = sound(tmp_path / "run")
    run.dies(20.0, expected=True)
    assert found(run) == []


def test_a_death_is_told_with_its_words_and_the_acts_of_the_ten_seconds_before(tmp_path: Path) -> None:
    (death,) = found(with_death(tmp_path / "run"))
    assert (death.kind, death.at_s, death.what) == ("death", 12.5, "talker (pid 102) killed by SIGKILL")
    assert death.words == ("last words",)
    # The call began 10.5 s before: too long ago.
    assert [act.kind for act in death.before] == ["barge_in_cancel", "hang_up_rst", "new_session"]


def test_for_a_stuck_turn_what_counts_is_what_came_before_the_end_of_its_speech(tmp_path: Path) -> None:
    (stuck,) = found(with_stuck_turn(tmp_path / "run"))
    assert (stuck.kind, stuck.at_s, stuck.since_s, stuck.call) == ("stuck", 21.0, 13.0, "c001-0003")
    assert [act.kind for act in stuck.before] == ["barge_in_cancel", "hang_up_rst", "new_session", "call"]
    assert stuck.lines


def test_a_pause_comes_before_the_turn_that_got_stuck_by_it(tmp_path: Path) -> None:
    run = with_stuck_turn(tmp_path / "run")
    run.rig(14.0, ev.ProcessPaused, pid=102, stage="talker", paused=True)
    assert [(each.kind, each.at_s) for each in found(run)] == [("pause", 14.0), ("stuck", 21.0)]


def test_a_pause_tells_whether_it_ended(tmp_path: Path) -> None:
    run = sound(tmp_path / "run")
    for at_s, paused in ((5.0, True), (7.0, False), (9.0, True)):
        run.rig(at_s, ev.ProcessPaused, pid=102, stage="talker", paused=paused)
    assert [each.what for each in found(run)] == [
        "talker (pid 102) was stopped for 2.0 s",
        "talker (pid 102) was stopped and never went on",
    ]


def test_fault_lines_of_one_kind_and_stage_are_one_incident_with_their_number(tmp_path: Path) -> None:
    run = sound(tmp_path / "run")
    for at_s, stage in ((5.0, "talker"), (6.0, "talker"), (7.0, "thinker")):
        line = {"signature": "traceback", "stage": stage, "line": f"KeyError at {at_s}"}
        run.rig(at_s, ev.LogSignature, **line, expected=False, left_out=1)
    first, second = found(run)
    assert (first.what, first.words) == ("talker logged traceback, 4 times, first", ("KeyError at 5.0",))
    assert second.what == "thinker logged traceback, 2 times, first"


def test_an_error_that_a_hang_up_explains_is_none(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(1.0)
    run.act(2.0, ev.Act.HANG_UP_RST)
    line = {"signature": "read_after_disconnect", "stage": "api_server", "line": "x", "expected": False}
    run.rig(3.0, ev.LogSignature, **line)
    assert found(run) == []


def test_a_crowd_of_acts_is_cut_to_the_last_and_counted(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    run.start_call(2.0)
    for index in range(100):
        run.act(5.0 + index / 100, ev.Act.BARGE_IN_CANCEL)
    run.dies(7.0)
    (death,) = found(run)
    assert death.before_count == 100
    assert len(death.before) == ACTS_SHOWN
    assert death.before[-1].t_ns - death.before[0].t_ns == 290_000_000


def test_a_process_that_is_paused_for_ever_anew_is_told_often_enough(tmp_path: Path) -> None:
    run = sound(tmp_path / "run")
    for index in range(2 * (KEPT + 5)):
        run.rig(3.0 + index / 100, ev.ProcessPaused, pid=102, stage="talker", paused=index % 2 == 0)
    assert len(found(run)) == KEPT
