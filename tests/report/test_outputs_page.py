"""docs/outputs.md names every file of a run folder, and Locust's own files say what the journals say."""

import csv
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

from rig.cli import main
from rig.report.write import REPORT_FILES
from tests.house.tree import ROOT
from tests.report.golden_runs import GoldenRuns

PAGE = ROOT / "docs" / "outputs.md"


def named() -> list[str]:
    """Every file named in the first cells of the table of a run folder."""
    section = PAGE.read_text(encoding="utf-8").partition("## A run folder")[2].partition("\n## ")[0]
    rows = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row)]


def unnamed(folder: Path, patterns: list[str]) -> list[str]:
    """Files below a folder that no pattern covers."""
    files = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    return [file for file in files if not any(fnmatch(file, pattern) for pattern in patterns)]


@pytest.mark.timeout(300)
def test_every_file_of_a_real_run_is_on_the_page(golden_runs: GoldenRuns) -> None:
    for folder in (golden_runs.quick, golden_runs.dying):
        assert unnamed(folder, named()) == []


def test_a_file_that_is_not_on_the_page_is_found(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    for name in ("run.yaml", "events/rig.jsonl", "events/other.txt", "surprise.bin"):
        (tmp_path / name).touch()
    assert unnamed(tmp_path, named()) == ["events/other.txt", "surprise.bin"]


def test_the_files_that_judging_makes_are_on_the_page() -> None:
    assert set(REPORT_FILES) <= set(named())


@pytest.mark.timeout(300)
def test_locusts_own_files_lie_beside_ours_and_count_no_reply_that_we_do_not(
    golden_runs: GoldenRuns, tmp_path: Path
) -> None:
    folder = golden_runs.quick / "locust"
    with (folder / "load_stats.csv").open(newline="") as file:
        counts = {row["Name"]: int(row["Request Count"]) for row in csv.DictReader(file)}
    assert main(["export", str(golden_runs.quick), "--csv", "--out", str(tmp_path)]) == 0
    with (tmp_path / "samples.csv").open(newline="") as file:
        ours = [row["measure"] for row in csv.DictReader(file) if row["corrected"] == "false"]
    # Locust writes its table once a second, so that the last replies may be missing there.
    assert 0 < counts["first_audio"] <= ours.count("first_audio")
    assert "<html" in (folder / "load.html").read_text(encoding="utf-8")
