"""Every value behind the figures, one row each, for other tools: samples.csv and samples.parquet."""

from rig.report.export.samples import COLUMNS, Row, stream
from rig.report.export.table import CSV_FILE, PARQUET_FILE, write_csv, write_parquet

__all__ = ["COLUMNS", "CSV_FILE", "PARQUET_FILE", "Row", "stream", "write_csv", "write_parquet"]
