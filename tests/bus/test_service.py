"""Whole runs over the bus: they are complete with and without it, and with the broker killed in the middle.

Whether the rig kept its own pace is another question, which a loaded machine answers with no.
"""

from pathlib import Path
from typing import Any

from rig import history
from rig.events.bus import BrokerExited, BusChanged, EventsFilled, ProducerState, ProducerStatus
from rig.events.types import CallEnded
from rig.report import judge_folder
from tests.bus.rigrun import rig_run

CALLER = "caller-local-"


def losses(verdict: dict[str, Any]) -> list[str]:
    """What the completeness check says of journals and producers; how much the callers did is not asked here."""
    (found,) = (check["findings"] for check in verdict["checks"] if check["check"] == "completeness")
    return [finding["text"] for finding in found if "caller-" in finding["text"] or "jsonl" in finding["text"]]


def test_a_run_collects_its_callers_over_the_embedded_broker_and_keeps_nothing_twice(tmp_path: Path) -> None:
    with rig_run(tmp_path, duration_s=8) as run:
        verdict = run.finish()
        assert run.process.returncode == verdict["exit_code"]
    assert not (run.folder / "spool").exists()
    states = [event.state for event in run.of(ProducerStatus) if event.producer.startswith(CALLER)]
    assert states == [ProducerState.ONLINE, ProducerState.CLOSED]
    assert [event.up for event in run.of(BusChanged)] == [True]
    assert run.of(EventsFilled) == []
    assert run.of(CallEnded)
    assert losses(verdict) == []
    assert verdict["verdict"] != "fail", verdict


def test_a_broker_killed_in_the_middle_changes_no_verdict_and_loses_no_event(tmp_path: Path) -> None:
    with rig_run(tmp_path, duration_s=6) as run:
        run.when(lambda: run.collected() > 2_000)
        run.child("rig.bus.broker").kill()
        verdict = run.finish()
    assert losses(verdict) == []
    assert verdict["verdict"] != "fail", verdict
    assert [event.signal for event in run.of(BrokerExited)] == ["SIGKILL"]
    assert [event.up for event in run.of(BusChanged)] == [True, False, True]
    assert all(damage.closed and damage.missing == 0 for damage in history.load(run.folder).damage)
    assert not (run.folder / "spool").exists()


def test_a_rig_killed_in_the_middle_leaves_spools_that_are_judged_with_what_was_collected(tmp_path: Path) -> None:
    with rig_run(tmp_path, duration_s=30) as run:
        run.when(lambda: run.collected() > 2_000)
        locust = run.child("locust")
        run.process.kill()
        run.process.wait()
        locust.wait(30)
    (spool,) = run.folder.glob("spool/caller-*.jsonl")
    lines = spool.read_bytes().count(b"\n")
    read = history.load(run.folder)
    assert sum(len(call.events) for calls in read.calls() for call in calls) == lines - 2
    assert judge_folder(run.folder).sentence.startswith("UNKNOWN: completeness: the run has no end")


def test_without_a_bus_the_journals_are_written_where_they_are_judged(tmp_path: Path) -> None:
    with rig_run(tmp_path, duration_s=4, bus={"kind": "none"}) as run:
        assert losses(run.finish()) == []
    assert not (run.folder / "spool").exists()
    assert run.of(BusChanged) == []


def test_an_unreachable_broker_is_one_line_and_nothing_is_started(tmp_path: Path) -> None:
    with rig_run(tmp_path, bus={"url": "mqtt://127.0.0.1:18299"}) as run:
        assert run.process.wait(50) == 3
    told = run.output.read_text()
    assert "run.yaml:" in told
    assert "bus.url: no way in at mqtt://127.0.0.1:18299" in told
    assert "leave out `bus` for the embedded one" in told
    assert len(told.splitlines()) == 1
    assert not run.results.exists()
