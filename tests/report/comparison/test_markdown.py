"""comparison.md: warnings before the figures, everything in the order of a reader's questions."""

from pathlib import Path

from rig.report.comparison.content import compare
from rig.report.comparison.markdown import render
from tests.builders import RUN_YAML, edited
from tests.report.comparison.runs import sides

HEADINGS = [
    "# A (before) against B (after)",
    "**Before you read the figures",
    "## Verdicts",
    "## What happened",
    "## What a caller heard",
    "## What differs",
    "## What this comparison cannot tell",
]


def test_it_answers_in_order_and_warns_first(tmp_path: Path) -> None:
    text = render(compare(sides(tmp_path, [100], [200], run=edited(RUN_YAML, seed=8))))
    places = [text.index(heading) for heading in HEADINGS]
    assert places == sorted(places)
    assert places[1] < text.index("the plans differ") < places[2]


def test_every_table_row_has_as_many_cells_as_its_head(tmp_path: Path) -> None:
    lines = render(compare(sides(tmp_path, [100, 9_000], [200, 300]))).splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) > 50
    widths = {}
    for before, line in zip(["", *lines], lines, strict=False):
        if line.startswith("|"):
            width = line.count(" | ")
            widths[line] = (width, before.count(" | ") if before.startswith("|") else width)
    assert [line for line, (width, above) in widths.items() if width != above and "---" not in line] == []
