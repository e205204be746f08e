"""Every report can be made anew from a copied folder, and is then the same."""

import shutil
from pathlib import Path

import pytest

from rig.cli import main
from rig.report.write import REPORT_FILE, REPORT_FILES, VERDICT_FILE
from tests.report.runs import whole


def test_rig_report_on_a_copied_folder_makes_what_rig_judge_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = whole(tmp_path / "run")
    run.history()
    assert main(["judge", str(run.folder)]) == 0
    made = {name: (run.folder / name).read_bytes() for name in REPORT_FILES}
    copied = tmp_path / "elsewhere" / "run"
    shutil.copytree(run.folder, copied)
    for name in REPORT_FILES:
        (copied / name).unlink()
    capsys.readouterr()
    assert main(["report", str(copied)]) == 0
    assert capsys.readouterr().out.splitlines() == [str(copied / name) for name in REPORT_FILES]
    assert {name: (copied / name).read_bytes() for name in REPORT_FILES} == made


def test_the_verdict_is_the_exit_code_of_both(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.dies(7.0)
    run.history()
    assert main(["report", str(run.folder)]) == main(["judge", str(run.folder)]) == 1
    assert '"verdict": "fail"' in (run.folder / VERDICT_FILE).read_text()


def test_the_report_shows_seen_and_corrected_side_by_side(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.history()
    main(["report", str(run.folder)])
    report = (run.folder / REPORT_FILE).read_text()
    assert "| p99 | max | p99 corrected | max corrected |" in report
    (row,) = [line for line in report.splitlines() if line.startswith("| first_audio (ms) |")]
    assert row.split(" | ")[1:8] == ["1", "1000", "1000", "1000", "1000", "1000", "1000"]
    assert "| audio_continuity_ok | 1.000 | 1 of 1 |" in report


def test_a_folder_that_is_no_run_is_a_usage_error(tmp_path: Path) -> None:
    assert main(["report", str(tmp_path)]) == 3
