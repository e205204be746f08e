"""The metrics of a judged folder: the verdict as numbers, and files that Prometheus' own parsers take."""

from pathlib import Path

import pytest

from rig.history import Call
from rig.metrics.calls import CallCountsFold
from rig.metrics.catalogue import METRICS
from rig.report import judge_folder, write_all
from rig.report.metrics import ended_s, judged
from rig.report.write import OPENMETRICS_FILE, PROMETHEUS_FILE, REPORT_FILES
from tests.builders import EXTERNAL_YAML, Run
from tests.metrics.text import openmetrics_samples, prometheus_samples, samples_of, series
from tests.report.runs import whole


def test_a_death_fails_liveness_and_the_run(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.dies(7.0)
    run.history()
    samples = samples_of(judged(judge_folder(run.folder)))
    assert samples["rig_verdict"] == 1
    assert samples[series("rig_check_verdict", check="liveness")] == 1
    assert samples[series("rig_check_findings", check="liveness")] == 1
    assert samples[series("rig_check_verdict", check="connections")] == 0
    assert samples[series("rig_process_deaths_total", stage="talker")] == 1


def test_the_files_hold_the_same_and_every_name_is_in_the_catalogue(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.history()
    write_all(judge_folder(run.folder))
    text = (run.folder / PROMETHEUS_FILE).read_text()
    samples = prometheus_samples(text)
    assert samples == openmetrics_samples((run.folder / OPENMETRICS_FILE).read_text())
    shown = {metric.shown for metric in METRICS.values()}
    assert {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")} <= shown


def test_a_folder_whose_rig_journal_lost_its_start_has_no_time(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.history()
    assert ended_s(judge_folder(run.folder).history) is not None
    path = run.path("rig")
    path.unlink()
    assert ended_s(judge_folder(run.folder).history) is None


def test_calls_without_an_end_and_without_a_rig_are_told_as_they_are(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.start_call(7.0, "c001-0000", caller=1)
    run.history()
    samples = samples_of(judged(judge_folder(run.folder)))
    assert samples["rig_callers"] == 1


def test_counting_the_calls_that_crashes_takes_its_own_metrics_along_and_is_no_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: CallCountsFold, call: Call) -> None:
        raise ValueError(call)

    monkeypatch.setattr(CallCountsFold, "see", broken)
    run = whole(tmp_path / "run")
    run.history()
    write_all(judge_folder(run.folder))
    assert all((run.folder / name).is_file() for name in REPORT_FILES)
    samples = prometheus_samples((run.folder / PROMETHEUS_FILE).read_text())
    assert samples["rig_verdict"] == samples[series("rig_check_verdict", check="rig_validity")] == 2
    assert "rig_session_slots" in samples
    assert not samples.keys() & {"rig_callers", "rig_sessions_open", "rig_session_slots_free"}


def test_nothing_is_found_of_processes_that_nobody_watched(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", pipeline=EXTERNAL_YAML)
    run.history()
    samples = samples_of(judged(judge_folder(run.folder)))
    assert series("rig_check_findings", check="liveness") not in samples
    assert samples[series("rig_check_findings", check="progress")] == 0
