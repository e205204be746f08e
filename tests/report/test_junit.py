"""junit.xml has a test case a check: a fail is a failure, an unknown an error, and what a log said stays XML."""

from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

from rig.events.types import EndReason, RunEnded
from rig.report import judge_folder
from rig.report.junit import render
from tests.report.runs import whole


def cases(folder: Path) -> tuple[Element, dict[str, Element]]:
    """The suite and its cases by name."""
    suite = fromstring(render(judge_folder(folder))).find("testsuite")
    assert suite is not None
    return suite, {case.attrib["name"]: case for case in suite.iter("testcase")}


def test_a_passed_run_has_a_case_a_check_and_no_failure(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.history()
    suite, found = cases(run.folder)
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == ("8", "0", "0")
    assert {child.tag for case in found.values() for child in case} == {"system-out"}


def test_a_fail_is_a_failure_with_its_findings(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.dies(7.0, last_lines=["bad \x1b[31m byte"])
    run.history()
    suite, found = cases(run.folder)
    failure = found["liveness"].find("failure")
    assert suite.attrib["failures"] == "1"
    assert failure is not None
    assert failure.attrib["message"].startswith("talker (pid 102) was killed by SIGKILL")
    assert failure.text is not None
    assert failure.text.startswith("7.00 s: talker")
    assert failure.text.endswith("bad \ufffd[31m byte")


def test_an_unknown_is_an_error_and_never_skipped(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    run.rig(9.0, RunEnded, reason=EndReason.INTERRUPTED, detail="x")
    run.history()
    suite, found = cases(run.folder)
    error = found["completeness"].find("error")
    assert (suite.attrib["errors"], suite.attrib["skipped"]) == ("1", "0")
    assert error is not None
    assert error.attrib["message"].startswith("the run ended early: interrupted")
