"""Rows to files: CSV with the standard library, Parquet with pyarrow, which no profile installs."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rig.errors import UsageError
from rig.files import whole
from rig.history import History
from rig.report.export.samples import COLUMNS, Row, stream

CSV_FILE = "samples.csv"
PARQUET_FILE = "samples.parquet"
GROUP_ROWS = 100_000
REMEDY = "name another folder with --out"

NO_PYARROW = (
    "Parquet needs pyarrow, the extra `parquet`, which no profile installs: "
    ".venv/bin/python -m pip install -r requirements/parquet.txt; or export --csv"
)


def write_csv(history: History, path: Path) -> int:
    """Write all rows below a line with the names of the columns; an absent value is empty. How many rows."""
    count = 0
    with whole(path, REMEDY) as work, work.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for rows in stream(history):
            writer.writerows(_spelt(row) for row in rows)
            count += len(rows)
    return count


def write_parquet(history: History, path: Path) -> int:
    """Write all rows, in groups, zstd; an absent value is null. How many rows. Raises UsageError without pyarrow."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError(NO_PYARROW) from error
    schema = _schema(pyarrow)
    count = 0
    with whole(path, REMEDY) as work, pyarrow.parquet.ParquetWriter(work, schema, compression="zstd") as writer:
        for rows in _groups(history):
            columns = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
            writer.write_table(pyarrow.table(columns, schema=schema))
            count += len(rows)
    return count


def _schema(pyarrow: Any) -> Any:
    name = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    types = {
        "measure": name,
        "unit": name,
        "behaviour": name,
        "caller": pyarrow.int32(),
        "call": name,
        "connection": pyarrow.int32(),
        "session": name,
        "turn": pyarrow.int32(),
        "at_s": pyarrow.float64(),
        "value": pyarrow.float64(),
        "corrected": pyarrow.bool_(),
    }
    may_lack = ("session", "turn")
    return pyarrow.schema([pyarrow.field(column, types[column], column in may_lack) for column in COLUMNS])


def _groups(history: History) -> Iterator[list[Row]]:
    held: list[Row] = []
    for rows in stream(history):
        held.extend(rows)
        while len(held) >= GROUP_ROWS:
            yield held[:GROUP_ROWS]
            del held[:GROUP_ROWS]
    if held:
        yield held


def _spelt(row: Row) -> tuple[object, ...]:
    """Times to the microsecond, which is what is measured, and truth as programs spell it."""
    told = row._replace(at_s=round(row.at_s, 6), value=round(row.value, 6))
    return (*told[:-1], "true" if row.corrected else "false")
