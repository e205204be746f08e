"""One timeline of stages and callers before what went wrong, and sentences that name request, queue and status."""

from pathlib import Path

from rig.events import types as ev
from rig.recorder.callers import CallerActs
from rig.recorder.timeline import LAST, OF_A_STUCK_CALL, Timeline, last_timeline, moments_of
from rig.report import judge_folder
from tests.builders import Run, ns
from tests.recorder.rings import GONE, STAYS, HandRing
from tests.recorder.runs import hang, zombie
from tests.report.runs import whole


def the_timeline(run: Run) -> Timeline:
    run.history()
    (found,) = judge_folder(run.folder).timelines.timelines
    return found


def test_stages_and_callers_stand_in_order_of_time(tmp_path: Path) -> None:
    found = the_timeline(zombie(tmp_path / "run"))
    assert found.moment.what == "thinker (pid 101) exited with status 1"
    times = [entry.t_ns for entry in found.entries]
    assert times == sorted(times)
    order = [(entry.who, entry.what.split()[0]) for entry in found.entries]
    assert order[-7:] == [
        ("talker", "update"), ("c000-0000", "hang_up_rst"), ("c000-0000", "connection"), ("thinker", "abort"),
        ("thinker", "free"), ("thinker", "schedule"), ("thinker", "RAISED"),
    ]  # fmt: skip
    assert [entry.what.split()[0] for entry in found.entries if entry.own][:2] == ["connects", "session"]
    assert ("duplex-01234567 e0 (c000-0000)", GONE) in found.requests


def test_the_request_that_killed_an_engine_is_named_with_queue_status_and_the_callers_act(tmp_path: Path) -> None:
    sentences = the_timeline(zombie(tmp_path / "run")).sentences
    assert sentences[0] == "thinker raised in schedule: KeyError: 'duplex-01234567 e0 (c000-0000)', 963 ms before"
    assert sentences[1].startswith("thinker was in step 2, which it did not finish: scheduled 963 ms before")
    assert sentences[2] == (
        "thinker scheduled duplex-01234567 e0 (c000-0000) (1 token), aborted 12.0 ms before while in skipped_waiting, "
        "status FINISHED_ABORTED (was WAITING), and still in running after that; "
        "c000-0000 did hang_up_rst after 40 ms of the reply 25.0 ms before that"
    )
    assert sentences[3].startswith("thinker scheduled duplex-fedcba98 e0 (1 token), last heard of ")
    assert "thinker: abort left duplex-01234567 e0 (c000-0000) in running" in sentences
    assert any(one.startswith("talker was between steps: step 9 was scheduled ") for one in sentences)


def test_a_stuck_calls_own_requests_are_shown_from_before_the_last_records(tmp_path: Path) -> None:
    found = the_timeline(hang(tmp_path / "run"))
    assert found.moment.calls == {"c000-0000"}
    assert found.entries[-1].t_ns <= ns(12.0)
    stage = [entry for entry in found.entries if not entry.own]
    assert stage[0].what.startswith("add duplex-01234567 e0 (c000-0000)")
    assert LAST < len(stage) <= LAST + OF_A_STUCK_CALL


def test_a_run_in_which_nothing_went_wrong_has_no_timeline_but_a_last_one(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    HandRing(run.folder).schedule(4.0, 1, STAYS)
    run.history()
    judgement = judge_folder(run.folder)
    assert judgement.timelines.timelines == ()
    (last,) = last_timeline(judgement.history, judgement.callers.result()).timelines
    assert [entry.what.split(":")[0] for entry in last.entries if not entry.own] == ["schedule step 1"]


def test_without_rings_a_death_has_a_moment_and_no_records(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    died = {"pid": 102, "stage": "talker", "title": "talker", "expected": False, "last_lines": []}
    run.rig(6.0, ev.ProcessDied, exit_status=None, signal="SIGKILL", **died)
    run.rig(7.0, ev.ProcessDied, exit_status=None, signal="SIGKILL", **{**died, "pid": 103, "stage": "code2wav"})
    run.stop(10.0, ev.EndReason.ENGINE_LOST, "talker died")
    run.history()
    judgement = judge_folder(run.folder)
    (moment,) = moments_of(judgement.history, judgement.checks)
    assert moment.what == "talker (pid 102) was killed by SIGKILL, then code2wav"
    (found,) = judgement.timelines.timelines
    assert (found.sentences, found.entries) == ((), ())
    assert last_timeline(judgement.history, CallerActs((), {})).timelines == ()


def test_of_a_death_that_nobody_was_told_of_no_status_is_made_up(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    run.dies(6.0, exit_status=None, signal=None)
    run.stop(10.0, ev.EndReason.ENGINE_LOST, "talker died")
    run.history()
    judgement = judge_folder(run.folder)
    (moment,) = moments_of(judgement.history, judgement.checks)
    assert moment.what == "talker (pid 102) died (status not known)"


def test_a_fault_in_a_log_where_nothing_died_is_a_moment(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    fields = {"signature": "engine_dead", "stage": "talker", "line": "EngineDeadError", "expected": False}
    run.rig(6.0, ev.LogSignature, **fields)
    run.stop(10.0)
    run.history()
    judgement = judge_folder(run.folder)
    (moment,) = moments_of(judgement.history, judgement.checks)
    assert (moment.what, moment.t_ns) == ("talker logged engine_dead", ns(6.0))


def test_a_ring_that_breaks_the_reader_changes_no_verdict(tmp_path: Path) -> None:
    run = zombie(tmp_path / "run")
    run.history()
    judgement = judge_folder(run.folder)
    judgement.callers.see([object()])  # type: ignore[list-item]
    assert judgement.timelines.timelines == ()
    assert "could not be read" in judgement.timelines.problems[0]
    assert judgement.verdict == "fail"
