"""The files: CSV everywhere, Parquet where pyarrow is; each whole or not at all."""

import csv
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from rig.cli import main
from rig.report.export import COLUMNS, CSV_FILE, PARQUET_FILE
from tests.builders import Run
from tests.report.html.runs import sound

needs_pyarrow = pytest.mark.skipif(
    find_spec("pyarrow") is None, reason="pyarrow (the extra `parquet`) is not installed"
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = sound(tmp_path / "run")
    made.history()
    return made.folder


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_csv_has_a_line_a_value_and_absent_values_are_empty(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(run), "--csv"]) == 0
    lines = (run / CSV_FILE).read_text().splitlines()
    assert lines[0] == ",".join(COLUMNS)
    assert capsys.readouterr().out == f"{run / CSV_FILE}: {len(lines) - 1} rows\n"
    assert "connect,ms,polite,0,c000-0000,0,s,,2.1,100.0,false" in lines


def test_hostile_names_stay_in_their_cells(tmp_path: Path) -> None:
    name = 'a,b\n"c"'
    made = Run(tmp_path / "run")
    made.start_call(2.0)
    made.connect(2.0, ready_s=2.1, session_id=name)
    made.history()
    assert main(["export", str(made.folder), "--csv"]) == 0
    assert [row["session"] for row in read_csv(made.folder / CSV_FILE)] == [name]


def test_without_pyarrow_one_line_names_the_extra_and_nothing_is_left(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    before = sorted(run.iterdir())
    assert main(["export", str(run), "--parquet"]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "the extra `parquet`" in line
    assert "requirements/parquet.txt" in line
    assert sorted(run.iterdir()) == before


@needs_pyarrow
def test_parquet_holds_what_csv_holds_with_types(run: Path) -> None:
    import pyarrow.parquet

    assert main(["export", str(run), "--csv", "--parquet"]) == 0
    table = pyarrow.parquet.read_table(run / PARQUET_FILE)
    assert table.column_names == list(COLUMNS)
    rows = table.to_pylist()
    told = read_csv(run / CSV_FILE)
    assert len(rows) == len(told) > 5
    for row, text in zip(rows, told, strict=True):
        assert (row["measure"], str(row["caller"]), row["call"]) == (text["measure"], text["caller"], text["call"])
        assert row["turn"] == (int(text["turn"]) if text["turn"] else None)
        assert row["value"] == pytest.approx(float(text["value"]), abs=1e-6)
        assert row["corrected"] is (text["corrected"] == "true")


@needs_pyarrow
def test_a_run_without_a_value_is_an_empty_table(tmp_path: Path) -> None:
    import pyarrow.parquet

    made = Run(tmp_path / "run")
    made.history()
    assert main(["export", str(made.folder), "--parquet"]) == 0
    assert pyarrow.parquet.read_table(made.folder / PARQUET_FILE).num_rows == 0


def test_a_folder_that_is_not_there_and_an_export_of_nothing_are_usage_errors(run: Path, tmp_path: Path) -> None:
    assert main(["export", str(run), "--csv", "--out", str(tmp_path / "missing")]) == 3
    assert main(["export", str(run)]) == 3
    assert main(["export", str(tmp_path), "--csv"]) == 3
