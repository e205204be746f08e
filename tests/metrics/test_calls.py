"""Counts of calls: the same event by event and call by call, and never more series than scenarios and outcomes."""

from pathlib import Path

import pytest

from rig.events import types as ev
from rig.fold import result_of
from rig.metrics.board import families
from rig.metrics.calls import MAX_CODES, OTHER, CallCounts, CallCountsFold
from tests.builders import Run
from tests.metrics.text import Samples, samples_of, series
from tests.report.runs import whole


def found(counts: CallCounts) -> Samples:
    return samples_of(families([counts.board, counts.gauges()]))


def of_run(run: Run) -> Samples:
    return found(result_of(CallCountsFold, run.history()))


def test_a_call_from_its_start_to_its_end(tmp_path: Path) -> None:
    samples = of_run(whole(tmp_path / "run"))
    polite = {"scenario": "polite"}
    assert samples[series("rig_calls_started_total", **polite)] == 1
    assert samples[series("rig_calls_total", outcome="done", **polite)] == 1
    assert samples[series("rig_calls_total", outcome="lost", **polite)] == 0
    assert samples[series("rig_turns_total", outcome="done", **polite)] == 1
    assert samples[series("rig_sessions_opened_total", **polite)] == 1
    assert samples[series("rig_frames_sent_total", **polite)] == 10
    assert samples[series("rig_audio_received_seconds_total", **polite)] == 1
    assert (samples["rig_callers"], samples["rig_sessions_open"]) == (0, 0)


def test_open_calls_and_sessions_are_counted_now(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.1)
    run.start_call(3.0, "c001-0000", caller=1)
    samples = of_run(run)
    assert (samples["rig_callers"], samples["rig_sessions_open"]) == (2, 1)


def test_a_connection_that_the_server_ends_is_lost_unless_it_was_refused(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.refuse(2.1, "c000-0000")
    run.close(2.2, by=ev.ClosedBy.SERVER_CLOSE_FRAME)
    run.connect(3.0, connection=1, ready_s=3.1)
    run.close(4.0, connection=1, by=ev.ClosedBy.SERVER_RESET)
    samples = of_run(run)
    assert samples[series("rig_refusals_total", scenario="polite", code="resource_exhausted")] == 1
    assert samples[series("rig_connections_lost_total", scenario="polite", by="server_close_frame")] == 0
    assert samples[series("rig_connections_lost_total", scenario="polite", by="server_reset")] == 1


def test_a_server_that_makes_up_codes_makes_few_series(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    for number in range(MAX_CODES + 5):
        run.refuse(2.1 + number, "c000-0000", code=f"code-{number}")
    refusals = {name: value for name, value in of_run(run).items() if name.startswith("rig_refusals")}
    assert len(refusals) == MAX_CODES + 2
    assert refusals[series("rig_refusals_total", scenario="polite", code=OTHER)] == 5


def test_event_by_event_comes_to_the_same_as_call_by_call(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.start_call(7.0, "c001-0000", caller=1, behaviour="hang_up")
    run.connect(7.0, "c001-0000", ready_s=7.2)
    run.act(8.0, ev.Act.HANG_UP_RST, "c001-0000")
    history = run.history()
    one_by_one = CallCounts()
    for call in (call for calls in history.calls() for call in calls):
        for event in call.events:
            one_by_one.take(event, call.start.behaviour)
    assert found(one_by_one) == pytest.approx(found(result_of(CallCountsFold, history)))
