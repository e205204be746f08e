"""Baselines: a run folder or a small file; and the command that holds real runs against them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.cli import main
from rig.errors import RigError, UsageError
from rig.report.gate import GATE_FILE, newest_run, read_baseline, save_baseline
from tests.builders import RUN_YAML, edited
from tests.report.comparison.runs import run_of
from tests.report.golden_runs import GoldenRuns
from tests.report.runs import whole

GATE_YAML = """\
question: Is the golden server no slower than before?
gate:
  max_lost_turns: 0.5
  measures:
    first_audio:
      p50: {max_ratio: 1.3, slack: 50, least_n: 4}
"""


def passed(folder: Path) -> Path:
    """A run that passed, with its machine recorded."""
    run = whole(folder)
    (folder / "provenance.json").write_text('{"hardware": {"cpu": "one"}, "host": "secret", "argv": ["typed"]}')
    run.history()
    return folder


def test_a_saved_file_is_the_same_baseline_as_the_run_and_keeps_no_host(tmp_path: Path) -> None:
    run = passed(tmp_path / "run")
    save_baseline(tmp_path / "new" / "base.json", [run])
    text = (tmp_path / "new" / "base.json").read_text()
    assert "secret" not in text
    assert "typed" not in text
    saved, live = read_baseline(tmp_path / "new" / "base.json"), read_baseline(run)
    assert saved.runs[0].measures == live.runs[0].measures
    assert saved.name == live.name == "run"


@pytest.mark.parametrize("place", ["taken", "file/base.json"])
def test_a_file_that_cannot_be_written_is_a_usage_error_with_its_remedy(tmp_path: Path, place: str) -> None:
    run = passed(tmp_path / "run")
    (tmp_path / "file").touch()
    (tmp_path / "taken").mkdir()
    with pytest.raises(UsageError, match="; name another file with --to"):
        save_baseline(tmp_path / place, [run])


def test_a_run_that_did_not_pass_is_no_baseline(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="run is no baseline: FAIL: progress"):
        save_baseline(tmp_path / "base.json", [run_of(tmp_path / "run", [9_000])])
    assert not (tmp_path / "base.json").exists()


def test_runs_of_different_configs_are_no_one_baseline(tmp_path: Path) -> None:
    first, other = passed(tmp_path / "first"), passed(tmp_path / "other")
    (other / "run.yaml").write_text(edited(RUN_YAML, return_s=11))
    with pytest.raises(UsageError, match=r"first and other are no one baseline: run\.deadlines\.return_s"):
        save_baseline(tmp_path / "base.json", [first, other])
    with pytest.raises(UsageError, match="stands twice"):
        save_baseline(tmp_path / "base.json", [first, first])


def test_what_is_neither_a_run_nor_a_baseline_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"runs": 3}')
    for path in (tmp_path / "missing.json", tmp_path / "other.json", tmp_path):
        with pytest.raises(RigError):
            read_baseline(path)


def garbled(saved: dict[str, Any]) -> None:
    saved["runs"][0]["measures"][0]["hdr"] = "é"


def without_runs(saved: dict[str, Any]) -> None:
    saved["runs"] = []


@pytest.mark.parametrize("spoil", [garbled, without_runs])
def test_a_baseline_that_holds_garbage_is_one_line_that_names_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: Callable[[dict[str, Any]], None]
) -> None:
    run, path = passed(tmp_path / "run"), tmp_path / "base.json"
    save_baseline(path, [run])
    saved = json.loads(path.read_text())
    spoil(saved)
    path.write_text(json.dumps(saved))
    assert main(["gate", str(run), str(path)]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"rig: {path} is no baseline (")


def test_the_newest_run_is_the_one_with_the_latest_time_in_its_name(tmp_path: Path) -> None:
    for name in ("20260101T000000Z-smoke-1", "20260102T000000Z-smoke-1", "zzz", "20260103T000000Z-comparison"):
        (tmp_path / name).mkdir()
        if "comparison" not in name:
            (tmp_path / name / "run.yaml").touch()
    assert newest_run(tmp_path).name == "20260102T000000Z-smoke-1"
    with pytest.raises(UsageError, match="there is no run in"):
        newest_run(tmp_path / "zzz")


@pytest.fixture
def gate_file(tmp_path: Path) -> Path:
    path = tmp_path / "gate.yaml"
    path.write_text(GATE_YAML)
    return path


@pytest.mark.timeout(300)
def test_a_real_run_passes_against_itself_and_is_unbaselined_against_another_config(
    golden_runs: GoldenRuns, gate_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = tmp_path / "base.json"
    assert main(["gate", "--save", str(golden_runs.quick), "--to", str(base)]) == 0
    assert base.stat().st_size < 40_000
    assert main(["gate", str(golden_runs.quick), str(base), "--config", str(gate_file)]) == 0
    assert json.loads((golden_runs.quick / GATE_FILE).read_text())["answer"] == "pass"
    assert main(["gate", str(golden_runs.slow), str(base), "--config", str(gate_file)]) == 2
    assert "pipeline.golden.first_audio_ms: 100 and 300" in capsys.readouterr().out


@pytest.mark.timeout(300)
def test_a_real_run_that_is_slower_on_purpose_fails_where_that_is_under_test(
    golden_runs: GoldenRuns, gate_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gate_file.write_text(GATE_YAML + "  under_test: [pipeline.golden]\n")
    runs = [str(golden_runs.slow), str(golden_runs.quick)]
    assert main(["gate", *runs, "--config", str(gate_file)]) == 1
    assert capsys.readouterr().out.splitlines()[-1].startswith("FAIL: 1 of 4 limits broken: first_audio p50")
    assert main(["gate", *reversed(runs), "--config", str(gate_file)]) == 0


@pytest.mark.timeout(300)
def test_a_real_run_whose_server_died_fails_and_is_no_baseline(
    golden_runs: GoldenRuns, gate_file: Path, tmp_path: Path
) -> None:
    gate_file.write_text(GATE_YAML + "  under_test: [pipeline.golden]\n")
    assert main(["gate", str(golden_runs.dying), str(golden_runs.quick), "--config", str(gate_file)]) == 1
    assert main(["gate", str(golden_runs.quick), str(golden_runs.dying), "--config", str(gate_file)]) == 2
    assert main(["gate", "--save", str(golden_runs.dying), "--to", str(tmp_path / "base.json")]) == 3


@pytest.mark.timeout(300)
def test_with_a_baseline_alone_the_newest_run_is_gated(
    golden_runs: GoldenRuns, gate_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    shutil.copytree(golden_runs.quick, results / golden_runs.quick.name)
    assert main(["gate", str(golden_runs.quick), "--results", str(results), "--config", str(gate_file)]) == 0
    assert (results / golden_runs.quick.name / GATE_FILE).is_file()
    assert capsys.readouterr().out.splitlines()[-1].startswith("PASS")


@pytest.mark.parametrize(
    "arguments", [["a", "b", "c"], ["a", "--to", "x"], ["nowhere"], ["nowhere", "neither"]], ids=" ".join
)
def test_wrong_arguments_are_usage_errors(arguments: list[str], gate_file: Path) -> None:
    assert main(["gate", *arguments, "--config", str(gate_file)]) == 3
