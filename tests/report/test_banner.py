"""A run of an engine that was broken on purpose says so first, in every report."""

import json
from pathlib import Path
from xml.etree.ElementTree import fromstring

from rig.folder import PROVENANCE_FILE
from rig.report import judge_folder, write_all
from rig.report.banner import banner, sentence
from rig.report.html.page import failed
from rig.report.write import JUNIT_FILE, PAGE_FILE, REPORT_FILE, VERDICT_FILE
from tests.report.runs import whole

BUGS = ["zombie_in_running", "/somewhere/mine.py"]


def reported(folder: Path, bugs: object) -> Path:
    run = whole(folder / "run")
    run.history()
    (run.folder / PROVENANCE_FILE).write_text(json.dumps({"engine_bugs": bugs, "engine_patches": []}))
    write_all(judge_folder(run.folder))
    return run.folder


def test_every_report_says_so_first(tmp_path: Path) -> None:
    folder = reported(tmp_path, BUGS)
    said = sentence(BUGS)
    assert said.startswith("ENGINE BUGS PUT BACK: zombie_in_running, mine.py.")
    assert (folder / REPORT_FILE).read_text().splitlines()[2] == f"**{said}**"
    header = (folder / PAGE_FILE).read_text().partition("<header>")[2]
    assert header.startswith('<p class="broken" role="alert"><strong>' + said)
    assert json.loads((folder / VERDICT_FILE).read_text())["engine_bugs"] == BUGS
    (told,) = fromstring((folder / JUNIT_FILE).read_bytes()).iter("property")
    assert told.attrib == {"name": "engine_bugs", "value": said}


def test_a_page_that_could_not_be_made_says_so_too(tmp_path: Path) -> None:
    judgement = judge_folder(reported(tmp_path, BUGS))
    assert failed(judgement, ValueError()).index(sentence(BUGS)) < failed(judgement, ValueError()).index("<h1>")


def test_the_released_engine_has_no_banner(tmp_path: Path) -> None:
    folder = reported(tmp_path, [])
    assert banner(judge_folder(folder).history) is None
    for name in (REPORT_FILE, PAGE_FILE, JUNIT_FILE):
        assert "PUT BACK" not in (folder / name).read_text()
    assert "| engine bugs put back | none |" in (folder / REPORT_FILE).read_text()


def test_a_run_that_recorded_nothing_about_bugs_has_none(tmp_path: Path) -> None:
    assert banner(judge_folder(reported(tmp_path, None)).history) is None
