"""The files of a comparison: written whole, made anew, and the same each time."""

from pathlib import Path

import pytest

from rig.cli import main
from rig.report.comparison import COMPARISON_FILES, write_comparison
from tests.report.comparison.runs import run_of, sides
from tests.report.golden_runs import GoldenRuns


def test_two_files_are_written_into_a_folder_that_is_made(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    written = write_comparison(out, sides(tmp_path, [100], [200]))
    assert written == tuple(out / name for name in COMPARISON_FILES)
    assert sorted(path.name for path in out.iterdir()) == sorted(COMPARISON_FILES)


def test_the_same_runs_make_the_same_files_in_the_place_of_the_old_ones(tmp_path: Path) -> None:
    both = sides(tmp_path, [100], [200])
    first = [path.read_bytes() for path in write_comparison(tmp_path / "out", both)]
    assert [path.read_bytes() for path in write_comparison(tmp_path / "out", both)] == first


@pytest.mark.parametrize("out", ["file", "taken"])
def test_a_place_that_cannot_be_written_is_a_usage_error_with_its_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], out: str
) -> None:
    left, right = run_of(tmp_path / "left", [100]), run_of(tmp_path / "right", [100])
    (tmp_path / "file").touch()
    (tmp_path / "taken" / COMPARISON_FILES[0]).mkdir(parents=True)
    assert main(["compare", str(left), str(right), "--out", str(tmp_path / out)]) == 3
    assert capsys.readouterr().err.endswith("; name another folder with --out\n")


@pytest.mark.timeout(300)
def test_rig_compare_tells_two_real_runs_apart_by_what_differs_between_them(
    golden_runs: GoldenRuns, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["compare", str(golden_runs.quick), str(golden_runs.slow), "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines() == [str(out / name) for name in COMPARISON_FILES]
    text = (out / "comparison.md").read_text()
    assert "| pipeline.golden.first_audio_ms | 100 | 300 |" in text
    assert "the machines differ" not in text
    assert "the plans differ" not in text
    (row,) = [line for line in text.splitlines() if line.startswith("| first_audio, as seen")]
    difference = text.splitlines()[text.splitlines().index(row) + 3].split(" | ")
    assert difference[1] == "B \u2212 A"
    assert 150 < float(difference[3].removeprefix("+").removesuffix(" ms")) < 250


@pytest.mark.timeout(300)
def test_several_runs_a_side_and_a_death(golden_runs: GoldenRuns, tmp_path: Path) -> None:
    sides = ["--a", str(golden_runs.quick), "--b", str(golden_runs.slow), str(golden_runs.dying)]
    assert main(["compare", *sides, "--label-b", "suspect", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "comparison.md").read_text()
    assert text.startswith(f"# A ({golden_runs.quick.name}) against B (suspect)")
    assert "| processes of the server that died | 0 | 1 |" in text
    assert f"| B | {golden_runs.dying.name} | liveness | fail |" in text


@pytest.mark.parametrize(
    "arguments",
    [[], ["one"], ["one", "two", "three"], ["one", "two", "--a", "three"], ["--a", "one"]],
    ids=" ".join,
)
def test_wrong_numbers_of_runs_are_usage_errors(arguments: list[str]) -> None:
    assert main(["compare", *arguments]) == 3
