"""A results folder reads back as one history, merged in time, however badly the run ended."""

from pathlib import Path

import pytest

from rig.errors import RigError
from rig.events import types as ev
from rig.history import RUN_FILE
from tests.builders import Run, ns


def test_events_of_all_journals_are_merged_in_time(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.rig(1.0, ev.PhaseEntered, phase=ev.Phase.LOAD)
    run.rig(3.0, ev.PhaseEntered, phase=ev.Phase.DRAIN)
    stamps = [event.t_ns for event in run.history().events if not isinstance(event, ev.Header | ev.JournalClosed)]
    assert stamps == [ns(0), ns(1), ns(2), ns(3)]


def test_calls_are_told_apart_and_hold_their_own_events(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(1.0, "c000-0000", caller=0)
    run.start_call(1.5, "c001-0000", caller=1)
    run.turn_ended(2.0, ev.Outcome.DONE, "c001-0000")
    run.turn_ended(3.0, ev.Outcome.NO_REPLY, "c000-0000")
    history = run.history()
    assert set(history.calls) == {"c000-0000", "c001-0000"}
    assert [event.outcome for event in history.calls["c000-0000"].of(ev.TurnEnded)] == [ev.Outcome.NO_REPLY]
    assert history.calls["c001-0000"].start.caller == 1


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
