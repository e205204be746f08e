"""Live metrics: what is served while a run goes on comes to what its folder says when it is over."""

from pathlib import Path

import pytest

from rig.clock import from_s
from rig.config.load import load_pipeline
from rig.events import types as ev
from rig.follow import Follow
from rig.history import EVENTS_DIR, PIPELINE_FILE
from rig.metrics.live import LOST_START, LiveMetrics
from rig.progress import Progress
from rig.report import judge_folder
from rig.report.metrics import judged
from tests.builders import EXTERNAL_YAML, ORIGIN_NS, Run, run_config
from tests.metrics.text import Samples, samples_of, series
from tests.report.runs import whole

ONLY_LIVE = ("rig_phase_time_left_seconds",)
ONLY_JUDGED = ("rig_verdict", "rig_check_verdict", "rig_check_findings")


class Live:
    """The metrics of a folder that is being written."""

    def __init__(self, run: Run) -> None:
        history = run.history(closed=False)
        self._live = LiveMetrics(run.folder, run_config(run.folder), history.pipeline, run.plan)
        self._follow = Follow(run.folder / EVENTS_DIR, [self._live])

    def at(self, at_s: float) -> Samples:
        """What is served at a moment of the run."""
        now_ns = ORIGIN_NS + from_s(at_s)
        return samples_of(self._follow.ask(lambda: self._live.collect(self._follow, now_ns)))


def without(samples: Samples, names: tuple[str, ...]) -> Samples:
    return {name: value for name, value in samples.items() if not name.startswith(names)}


def test_in_the_end_it_is_what_the_judged_folder_says(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    live = Live(run)
    run.history()
    served = live.at(28.0)
    written = samples_of(judged(judge_folder(run.folder)))
    assert without(served, (*ONLY_LIVE, *ONLY_JUDGED)) == pytest.approx(without(written, ONLY_JUDGED))
    assert served[series("rig_first_audio_seconds_count", scenario="polite")] == 1
    assert {name.partition("{")[0] for name in written} >= set(ONLY_JUDGED)


def test_counters_move_at_once_and_figures_when_the_call_is_over(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    live = Live(run)
    assert not [name for name in live.at(1.5) if name.startswith("rig_calls")]
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5)
    first = live.at(3.0)
    assert (first["rig_callers"], first["rig_sessions_open"], first["rig_session_slots_free"]) == (1, 1, 1)
    assert not [name for name in first if name.startswith("rig_connect_seconds")]
    run.close(6.0)
    run.call(6.0, ev.CallEnded, outcome=ev.Outcome.DONE, detail="")
    run.start_call(12.0, "c001-0000", caller=1)
    then = live.at(12.0)
    assert then[series("rig_connect_seconds_count", scenario="polite")] == 1
    assert (then["rig_callers"], then["rig_sessions_open"]) == (1, 0)


def test_nothing_is_found_of_processes_that_nobody_watched(tmp_path: Path) -> None:
    samples = Live(Run(tmp_path / "run", pipeline=EXTERNAL_YAML)).at(3.0)
    assert series("rig_check_findings", check="liveness") not in samples
    assert samples[series("rig_check_findings", check="progress")] == 0


def test_the_screen_and_the_metrics_find_the_same_in_one_journal(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5)
    run.turn_ended(9.0, ev.Outcome.NO_REPLY)
    run.turn_ended(9.1, ev.Outcome.NO_END, turn=1)
    run.turn_ended(9.2, ev.Outcome.CUT, turn=2)
    run.close(9.6, by=ev.ClosedBy.SERVER_RESET)
    run.refuse(9.7, "c001-0000")
    run.close(9.8, "c001-0000", by=ev.ClosedBy.SERVER_CLOSE_FRAME)
    run.close(9.8, "c002-0000")
    run.dies(10.0, pid=300, stage="helper")
    run.dies(10.1, pid=101, stage="thinker")
    run.dies(10.2, expected=True)
    live = Live(run)
    samples = live.at(11.0)
    progress = Progress(run_config(run.folder), load_pipeline(run.folder / PIPELINE_FILE), ORIGIN_NS)
    screen = Follow(run.folder / EVENTS_DIR, [progress])
    now = screen.ask(lambda: progress.snapshot(ORIGIN_NS + from_s(11.0)))
    checks = ("liveness", "progress", "connections")
    found = [samples[series("rig_check_findings", check=check)] for check in checks]
    assert [now.deaths, now.stuck, now.lost] == found == [1, 2, 1]


def test_what_checks_have_found_so_far(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    run.start_call(2.0)
    run.turn_ended(9.0, ev.Outcome.NO_REPLY)
    run.close(9.6, by=ev.ClosedBy.SERVER_RESET)
    run.dies(9.7)
    samples = Live(run).at(10.0)
    checks = ("liveness", "progress", "connections")
    assert [samples[series("rig_check_findings", check=check)] for check in checks] == [1, 1, 1]
    assert not [name for name in samples if name.startswith(("rig_verdict", "rig_check_verdict"))]


def test_a_gap_in_a_journal_is_missing_events_and_what_follows_it_counts(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    run.start_call(2.0)
    run.turn_ended(3.0, ev.Outcome.DONE)
    path = run.path("callers")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"nonsense\n", *lines[2:]]))
    samples = Live(run).at(4.0)
    assert samples["rig_journal_missing_events_total"] == 1
    assert samples["rig_journal_damaged_lines_total"] == 1
    assert samples[series("rig_turns_total", scenario=LOST_START, outcome="done")] == 1
