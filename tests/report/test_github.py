"""The step summary: appended where a runner asks for it, and nowhere else."""

from pathlib import Path

import pytest

from rig.cli import main
from rig.errors import UsageError
from rig.report.github import MAX_BYTES, VARIABLE, append
from tests.report.comparison.runs import run_of
from tests.report.runs import whole


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = whole(tmp_path / "run")
    made.history()
    return made.folder


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "summary.md"
    monkeypatch.setenv(VARIABLE, str(path))
    return path


@pytest.mark.parametrize("command", ["judge", "report"])
def test_verdict_checks_and_figures_are_appended(run: Path, summary: Path, command: str) -> None:
    summary.write_text("an earlier step\n")
    assert main([command, str(run)]) == 0
    text = summary.read_text()
    assert text.startswith("an earlier step\n# PASS:")
    assert "| liveness | pass |" in text
    assert "| first_audio (ms) | 1 |" in text


def test_a_comparison_and_a_gate_are_appended(run: Path, summary: Path, tmp_path: Path) -> None:
    other = run_of(tmp_path / "other", [100])
    assert main(["compare", str(run), str(other), "--out", str(tmp_path / "out")]) == 0
    assert summary.read_text().startswith("# A (run) against B (other)")
    gate = tmp_path / "gate.yaml"
    gate.write_text("question: Is it no worse than before?\ngate: {max_deaths: 0}\n")
    assert main(["gate", str(other), str(run), "--config", str(gate)]) == 2
    assert "# Gate: UNBASELINED" in summary.read_text()


def test_without_a_runner_the_text_is_printed_on_request_only(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert main(["report", str(run)]) == 0
    assert "| liveness |" not in capsys.readouterr().out
    assert main(["report", str(run), "--github"]) == 0
    assert "| liveness | pass |" in capsys.readouterr().out


def test_a_text_beyond_what_a_step_may_write_is_cut_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    assert append("\u00e4" * MAX_BYTES, {VARIABLE: str(path)})
    assert path.stat().st_size <= MAX_BYTES + 1
    assert path.read_text().endswith("(cut here: the rest is in the run folder)\n\n")


def test_nobody_asks_nothing_is_written_and_a_place_that_cannot_be_written_is_told_of(tmp_path: Path) -> None:
    assert not append("text", {})
    with pytest.raises(UsageError, match=VARIABLE):
        append("text", {VARIABLE: str(tmp_path)})
