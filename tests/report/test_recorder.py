"""The recorders' part of report.md, and what `rig recorder` prints."""

import re
import shutil
from pathlib import Path

from rig.report import judge_folder, markdown, recorder, write_all
from tests.builders import PIPELINE_YAML, Run
from tests.recorder.rings import GONE
from tests.recorder.runs import zombie
from tests.report.runs import whole


def report_of(run: Run) -> str:
    run.history()
    return markdown.render(judge_folder(run.folder))


def test_a_death_is_told_with_its_request_and_the_lines_of_the_timeline(tmp_path: Path) -> None:
    report = report_of(zombie(tmp_path / "run"))
    assert "## What the engines did last" in report
    assert "### Before 6.000 s: thinker (pid 101) exited with status 1" in report
    assert (
        "- thinker scheduled duplex-01234567 e0 (c000-0000) (1 token), aborted 12.0 ms before while in skipped_waiting"
        in report
    )
    assert re.search(r"5\.0000 +-1000\.0 ms > c000-0000 +hang_up_rst", report)
    assert re.search(r"5\.0370 +-963\.0 ms   thinker +schedule step 2: duplex-01234567 e0", report)
    assert f"duplex-01234567 e0 (c000-0000) = {GONE}" in report
    assert "| flight recorder | on |" in report


def test_a_run_in_which_nothing_went_wrong_says_only_whether_it_was_recorded(tmp_path: Path) -> None:
    report = report_of(whole(tmp_path / "run"))
    assert "What the engines did last" not in report
    assert "| flight recorder | no engine wrote a ring |" in report
    off = Run(tmp_path / "off", pipeline=PIPELINE_YAML + "recorder: false\n")
    off.stop(3.0)
    assert "| flight recorder | switched off in the pipeline file |" in report_of(off)


def test_what_could_not_be_read_is_told(tmp_path: Path) -> None:
    run = zombie(tmp_path / "run")
    (run.folder / "recorder" / "stage-2.9.ring").write_bytes(b"")
    assert "Not all could be read: stage-2.9.ring is no ring" in report_of(run)


def test_a_copied_folder_gives_the_same_report(tmp_path: Path) -> None:
    run = zombie(tmp_path / "one" / "run")
    first = report_of(run)
    copy = tmp_path / "two" / "run"
    shutil.copytree(run.folder, copy)
    judgement = judge_folder(copy)
    write_all(judgement)
    assert (copy / "report.md").read_text() == first


def test_the_terminal_gets_the_timeline_and_then_the_sentences(tmp_path: Path) -> None:
    run = zombie(tmp_path / "run")
    run.history()
    judgement = judge_folder(run.folder)
    lines = recorder.render(judgement.history, judgement.timelines).splitlines()
    assert lines[0] == "before 6.000 s: thinker (pid 101) exited with status 1"
    assert any(line.startswith("* thinker raised in schedule: KeyError") for line in lines)
