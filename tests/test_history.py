"""A results folder reads back as one history, its calls one by one, however badly the run ended."""

from pathlib import Path

import pytest

from rig.errors import RigError
from rig.events import types as ev
from rig.events.journal import BLOCK_BYTES
from rig.history import RUN_FILE, Call, History, load
from tests.builders import Run, ns
from tests.report.runs import whole


def calls_of(history: History) -> dict[str, Call]:
    """Every call that a history hands out, by name."""
    return {call.start.call: call for calls in history.calls() for call in calls}


def test_what_the_rig_recorded_is_held_in_time_and_no_event_of_a_call_is(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.rig(3.0, ev.PhaseEntered, phase=ev.Phase.DRAIN)
    run.rig(1.0, ev.PhaseEntered, phase=ev.Phase.LOAD)
    history = run.history()
    stamps = [event.t_ns for event in history.events if not isinstance(event, ev.Header | ev.JournalClosed)]
    assert stamps == [ns(0), ns(1), ns(3)]
    assert [event.t_ns for event in history.of(ev.PhaseEntered)] == [ns(1), ns(3)]
    assert len(history.headers) == 2


def test_calls_are_told_apart_and_hold_their_own_events(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(1.0, "c000-0000", caller=0)
    run.start_call(1.5, "c001-0000", caller=1)
    run.turn_ended(2.0, ev.Outcome.DONE, "c001-0000")
    run.turn_ended(3.0, ev.Outcome.NO_REPLY, "c000-0000")
    calls = calls_of(run.history())
    assert set(calls) == {"c000-0000", "c001-0000"}
    assert [event.outcome for event in calls["c000-0000"].of(ev.TurnEnded)] == [ev.Outcome.NO_REPLY]
    assert calls["c001-0000"].start.caller == 1


def test_the_events_of_a_call_are_in_order_of_time_also_where_the_journal_is_not(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(1.0)
    run.turn_ended(4.0, ev.Outcome.DONE, turn=1)
    run.turn_ended(3.0, ev.Outcome.DONE, turn=0)
    run.act(2.0, ev.Act.SAY_GOODBYE)
    call = calls_of(run.history())["c000-0000"]
    assert [event.t_ns for event in call.events] == [ns(1), ns(2), ns(3), ns(4)]
    assert [event.turn for event in call.of(ev.TurnEnded)] == [0, 1]
    assert call.of(ev.AudioReceived) == ()


def test_the_talk_of_a_call_is_everything_but_the_frames_of_its_microphone(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.audio(3.0)
    run.call(2.5, ev.FramesSent, first_planned_ns=0, interval_ns=100_000_000, slips_us=[0])
    run.audio(4.0)
    (call,) = calls_of(run.history()).values()
    assert [type(event) for event in call.talk] == [ev.CallStarted, ev.AudioReceived, ev.AudioReceived]
    assert len(call.events) == len(call.talk) + 1


def test_what_comes_late_for_a_call_that_has_ended_still_belongs_to_it(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(1.0)
    run.call(9.0, ev.CallEnded, outcome=ev.Outcome.DONE, detail="")
    run.close(9.5)
    run.start_call(10.0, "c000-0001")
    history = run.history()
    assert len(calls_of(history)["c000-0000"].of(ev.ConnectionClosed)) == 1
    assert history.lost_starts == 0


def test_a_call_that_ended_is_handed_out_and_forgotten_before_the_journal_is_through(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    texts = "x" * (BLOCK_BYTES // 8)
    for number in range(3):
        call, at_s = f"c000-{number:04}", 60.0 * number + 1
        run.start_call(at_s, call)
        for part in range(8):
            run.call(at_s + part, ev.Surprise, call, what=texts)
        run.call(at_s + 9, ev.CallEnded, call, outcome=ev.Outcome.DONE, detail="")
    batches = [[call.start.call for call in calls] for calls in run.history().calls()]
    assert batches == [["c000-0000"], ["c000-0001"], ["c000-0002"]]


def test_a_call_whose_first_line_is_lost_is_counted_and_not_handed_out(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.turn_ended(4.0, ev.Outcome.DONE)
    history = run.history()
    assert calls_of(history) == {}
    assert history.lost_starts == 1


def test_the_last_event_of_all_may_be_a_callers(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(1.0)
    run.turn_ended(1e9, ev.Outcome.DONE)
    assert run.history().last_ns == ns(1e9)


def test_events_of_calls_cannot_be_asked_of_the_whole_run(tmp_path: Path) -> None:
    history = Run(tmp_path / "run").history()
    with pytest.raises(AssertionError, match="streamed"):
        history.of(ev.TurnEnded)


def test_a_moment_belongs_to_the_phase_entered_last(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.rig(1.0, ev.PhaseEntered, phase=ev.Phase.LOAD)
    run.rig(2.0, ev.PhaseEntered, phase=ev.Phase.DRAIN)
    history = run.history()
    phases = [history.phase_at(ns(at_s)) for at_s in (0.5, 1.0, 1.9, 2.0, 9.0)]
    assert phases == [ev.Phase.BOOT, ev.Phase.LOAD, ev.Phase.LOAD, ev.Phase.DRAIN, ev.Phase.DRAIN]
    assert history.phase_ns(ev.Phase.DRAIN) == ns(2.0)
    assert history.phase_ns(ev.Phase.STOP) is None


def test_a_run_that_died_has_a_start_and_no_end(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    history = run.history(closed=False)
    assert history.started is not None
    assert history.started.plan_sha256 == run.plan.sha256()
    assert history.ended is None
    assert [damage.closed for damage in history.damage] == [False]


def test_config_and_plan_are_those_of_the_folder(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    history = run.history()
    assert history.config.seed == 7
    assert history.plan == run.plan
    assert history.pipeline.hardware_label == "test"


def test_the_first_event_is_the_zero_of_the_timeline(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.rig(5.0, ev.PhaseEntered, phase=ev.Phase.LOAD)
    history = run.history()
    assert history.origin_ns == min(event.t_ns for event in history.events)


def test_a_file_that_is_no_journal_is_part_of_the_history(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.path("zz-broken").write_text("hello\n")
    (text,) = run.history().unreadable
    assert text.endswith("zz-broken.jsonl does not begin with a journal header")


def test_a_folder_without_a_run_file_is_no_results_folder(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    (run.folder / RUN_FILE).unlink()
    with pytest.raises(RigError, match=r"not a results folder: it has no run\.yaml"):
        run.history()


def test_a_folder_without_a_readable_journal_is_an_error(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.path("rig").write_text("")
    with pytest.raises(RigError, match="no readable journal"):
        run.history()


def test_nothing_in_the_folder_is_changed_by_reading(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.history()
    before = {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    run.history()
    assert {path: path.read_bytes() for path in run.folder.rglob("*") if path.is_file()} == before


def test_with_the_rig_gone_the_moment_counts_at_which_the_host_began_to_stop(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready()
    run.rig(20.0, ev.PhaseEntered, phase=ev.Phase.LOAD)
    assert run.history(closed=False).abandoned_ns == ns(20.0)
    run.rig(31.0, ev.PhaseEntered, phase=ev.Phase.STOP)
    run.dies(31.5, expected=True)
    assert run.history(closed=False).abandoned_ns == ns(31.0)


def test_a_journal_that_cannot_be_opened_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.history()
    events = run.folder / "events"
    (events / "folder.jsonl").mkdir()
    (events / "link.jsonl").symlink_to(tmp_path / "nowhere")
    found = load(run.folder)
    assert [text.rpartition("/")[2] for text in found.unreadable] == [
        "folder.jsonl cannot be read: Is a directory",
        "link.jsonl cannot be read: No such file or directory",
    ]
    assert found.started is not None
