"""Whatever a server logs, a report shows it as it was written and stays what it is."""

from pathlib import Path

import pytest

from rig.events import types as ev
from rig.report import judge_folder, write_all
from rig.report.blocks import fenced, items, table
from rig.report.comparison import Side, write_comparison
from rig.report.write import REPORT_FILE
from tests.builders import Run
from tests.report.comparison.runs import run_of
from tests.report.runs import whole

LINE = "<img src=x onerror=alert(1)> & <!-- <script>"
SHOWN = "&lt;img src=x onerror=alert(1)&gt; &amp; &lt;!-- &lt;script&gt;"


def test_a_cell_and_an_item_are_one_line_without_html() -> None:
    text = f"one | {LINE}\r\ntwo\n\n# three"
    assert items([text, "four"]) == f"- one | {SHOWN} two  # three\n- four"
    cell = f"| one \\| {SHOWN} two  # three |"
    assert table([text], [[text]]).splitlines() == [cell, "| --- |", cell]


@pytest.mark.parametrize(("line", "fence"), [("plain", "```"), ("```", "````"), ("a ````` b", "``````")])
def test_no_line_ends_the_block_it_stands_in(line: str, fence: str) -> None:
    assert fenced([line, LINE]).splitlines() == [f"{fence}text", line, LINE, fence]


def test_the_last_words_of_a_process_are_no_html_in_the_report(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.dies(7.0, title=LINE, last_lines=[LINE])
    run.history()
    write_all(judge_folder(run.folder))
    text = (run.folder / REPORT_FILE).read_text()
    assert f"last words: {SHOWN}" in text
    assert "<" not in text


def test_what_a_run_ended_with_and_the_name_of_a_side_are_no_html_in_a_comparison(tmp_path: Path) -> None:
    broken = Run(tmp_path / "broken")
    broken.stop(3.0, ev.EndReason.BOOT_FAILED, LINE)
    broken.history()
    sides = [Side("sound", [run_of(tmp_path / "sound", [100])]), Side(LINE, [broken.folder])]
    _, path = write_comparison(tmp_path / "out", sides)
    text = path.read_text()
    assert text.startswith(f"# A (sound) against B ({SHOWN})\n")
    assert f"the server was never ready: {SHOWN}" in text
    assert "<" not in text
