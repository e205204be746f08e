"""The parts of the page: each verdict is told in words, evidence is complete or says how much is missing."""

import dataclasses
import json
from pathlib import Path

import msgspec
import pytest

from rig.events import types as ev
from rig.fold import result_of
from rig.report.html import sections
from rig.report.html.gather import Gather
from rig.report.html.incidents import incidents_of
from rig.report.judgement import Judgement
from rig.verdict import CheckResult, Finding, Verdict
from tests.builders import Run
from tests.report.html.runs import judged, sound, with_death, with_stuck_turn
from tests.report.html.test_markup import Reader


def with_checks(judgement: Judgement, *checks: CheckResult) -> Judgement:
    return dataclasses.replace(judgement, checks=checks)


def a_check(name: str, verdict: Verdict, *findings: Finding, more: int = 0) -> CheckResult:
    return CheckResult(name, verdict, f"summary of {name}", findings, more)


@pytest.fixture
def judgement(tmp_path: Path) -> Judgement:
    run = sound(tmp_path / "run")
    run.stop(20.0)
    return judged(run)


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_verdict_is_a_sign_a_word_and_a_meaning(judgement: Judgement, verdict: Verdict) -> None:
    html = sections.verdict(with_checks(judgement, a_check("completeness", verdict)))
    assert f"</b> {verdict.upper()}</span>" in html
    assert sections.SIGNS[verdict] in html
    assert sections.MEANINGS[verdict] in Reader(html).text
    assert "<h1>summary of completeness" in html


def test_the_headline_is_what_was_found_and_not_the_name_of_the_check(tmp_path: Path) -> None:
    html = sections.verdict(judged(with_stuck_turn(tmp_path / "run")))
    assert "<h1>1 of 3 turns got stuck, the first at 21.0 s</h1>" in html
    assert "an engine hung or lost a reply" in html


def test_a_fault_in_a_log_is_not_told_as_a_death(tmp_path: Path) -> None:
    run = sound(tmp_path / "run")
    run.rig(5.0, ev.LogSignature, signature="traceback", stage="talker", line="x", expected=False)
    run.stop(20.0)
    html = sections.verdict(judged(run))
    assert "No process of the server died, but its log shows what only a fault writes." in html


def test_every_check_is_a_question_that_leads_to_its_evidence(judgement: Judgement) -> None:
    page = sections.verdict(judgement) + sections.checks(judgement)
    for check in judgement.checks:
        assert sections.QUESTIONS[check.check] in page
        assert f'href="#check-{check.check}"' in page
        assert f'id="check-{check.check}"' in page


def test_a_check_that_the_page_does_not_know_stands_there_by_its_name(judgement: Judgement) -> None:
    more = with_checks(judgement, a_check("completeness", Verdict.PASS), a_check("novelty", Verdict.FAIL))
    assert ">novelty</a>" in sections.verdict(more)
    assert "At least one check found a fault" in sections.verdict(more)


def test_checks_that_decided_come_first(judgement: Judgement) -> None:
    checks = [a_check("a", Verdict.PASS), a_check("b", Verdict.UNKNOWN), a_check("c", Verdict.FAIL)]
    html = sections.checks(with_checks(judgement, *checks))
    places = [html.index(f'id="check-{name}"') for name in "cba"]
    assert places == sorted(places)


def test_many_findings_are_folded_away_and_the_rest_is_counted(judgement: Judgement) -> None:
    findings = [Finding(f"finding {number}", float(number), "c000-0000") for number in range(1, 251)]
    html = sections.checks(with_checks(judgement, a_check("a", Verdict.FAIL, *findings, more=9)))
    assert html.count("<li>") == sections.FINDINGS_SHOWN
    assert "190 more findings" in html
    assert "50 more are in verdict.json." in html
    assert "9 later ones were only counted." in html
    assert '<li><a href="#timeline" data-t="1.000" class="at">1.00 s</a> <code>c000-0000</code> finding 1</li>' in html


def told(run: Run) -> str:
    history = run.history()
    gathered = result_of(Gather, history)
    return sections.incidents(history, incidents_of(history, gathered), gathered)


def test_two_deaths_in_a_row_tell_the_acts_before_them_once(tmp_path: Path) -> None:
    run = with_death(tmp_path / "run")
    run.dies(12.7, pid=103, stage="code2wav")
    html = told(run)
    assert html.count("<caption>What all callers did in the 10 s before") == 1
    assert 'the same as before <a href="#i0">entry 1</a>; the last act was 2.70 s earlier' in html


def test_of_processes_that_nobody_watched_nothing_is_claimed(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    assert "The server&#x27;s processes and logs were not watched." in told(run)
    run.start_call(1.0)
    run.close(2.0, by=ev.ClosedBy.SERVER_EOF)
    assert "No process of the server died" not in told(run)


def test_idle_callers_are_told_as_such(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    run.dies(30.0, last_lines=[])
    html = told(run)
    assert "No caller acted in the 10 s before." in html
    assert "last words" not in html


def test_long_last_words_are_cut_from_the_front(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.ready(1.0)
    run.dies(30.0, last_lines=[f"line {number}" for number in range(40)])
    html = told(run)
    assert f"(the last {sections.WORDS_SHOWN} of 40 lines)" in html
    assert "line 39" in html
    assert "line 27" not in html


def test_calls_that_went_wrong_and_are_not_told_are_counted(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    for index in range(15):
        call = f"c000-{index:04d}"
        run.start_call(1.0 + index, call)
        run.close(2.0 + index, call, by=ev.ClosedBy.SERVER_EOF)
    assert "3 more calls went wrong later" in told(run)


def test_the_stages_have_a_row_each(tmp_path: Path) -> None:
    run = with_death(tmp_path / "run")
    html = sections.stages(run.history())
    assert html.count('<th scope="row">') == 4
    assert "killed by SIGKILL" in html
    assert "919 MiB" in html


def test_an_external_server_has_no_stages(tmp_path: Path) -> None:
    assert "No process of the server was watched." in sections.stages(Run(tmp_path / "run").history())


def test_behaviours_tell_what_came_of_their_calls(judgement: Judgement) -> None:
    html = sections.behaviours(judgement.gathered.result())
    assert '<th scope="row">polite</th><td class="num">1</td><td>1 done</td><td>1 cut, 1 done</td>' in html
    assert "1 barge_in_cancel, 1 hang_up_rst" in html


def test_provenance_has_what_repeats_the_run(tmp_path: Path) -> None:
    run = with_death(tmp_path / "run")
    made = {"versions": {"vllm": "0.30.0"}, "commit": "abc", "argv": ["run", "x.yaml"], "seed": 7}
    (run.folder / "provenance.json").write_text(json.dumps(made))
    text = Reader(sections.origin(judged(run))).text
    for expected in ("version of vllm", "0.30.0", "abc", "run x.yaml", "hardware label", "engine_lost talker died"):
        assert expected in text
    assert run.plan.sha256() in text


def test_a_provenance_of_another_shape_is_shown_and_hurts_nothing(tmp_path: Path) -> None:
    run = with_death(tmp_path / "run")
    (run.folder / "provenance.json").write_bytes(msgspec.json.encode({"versions": [1], "host": {"a": [None]}}))
    assert "{&#x27;a&#x27;: [None]}" in sections.origin(judged(run))


def test_what_cannot_be_told_names_the_label_and_every_check_that_does_not_know(judgement: Judgement) -> None:
    text = Reader(sections.limits(with_checks(judgement, a_check("progress", Verdict.UNKNOWN)))).text
    assert "They prove engine behaviour." in text
    assert "progress: summary of progress" in text
