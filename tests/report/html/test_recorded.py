"""The recorders' part of the page."""

from pathlib import Path

from rig.report import judge_folder
from rig.report.html import page, recorded
from rig.report.judgement import Judgement
from tests.builders import Run
from tests.recorder.rings import STAYS, HandRing
from tests.recorder.runs import hang, zombie
from tests.report.runs import whole


def judged(run: Run) -> Judgement:
    run.history()
    return judge_folder(run.folder)


def section(run: Run) -> str:
    judgement = judged(run)
    return recorded.render(judgement.history, judgement.timelines)


def test_a_death_has_its_sentences_and_a_table_that_opens_on_demand(tmp_path: Path) -> None:
    html = section(zombie(tmp_path / "run"))
    assert "<h3>Before 6.000 s: thinker (pid 101) exited with status 1</h3>" in html
    assert "aborted 12.0 ms before while in skipped_waiting, status FINISHED_ABORTED" in html
    assert "<details><summary>" in html
    assert (
        "<td>5.0000</td><td>-1000.0</td><td>c000-0000</td><td><b>hang_up_rst after 40 ms of the reply</b></td>" in html
    )
    assert html.count("<tr>") == 1 + 15


def test_the_page_stays_small_with_full_rings(tmp_path: Path) -> None:
    run = hang(tmp_path / "run")
    for stage in (0, 1):
        hand = HandRing(run.folder, stage)
        for number in range(2_000):
            hand.schedule(2.0 + number * 0.004, number, STAYS)
    bare = len(page.of(judged(whole(tmp_path / "bare"))).encode())
    html = page.of(judged(run))
    assert html.count("<td>schedule step") >= 500
    assert len(html.encode()) - bare < 200_000


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    run = zombie(tmp_path / "run")
    HandRing(run.folder, 2).add(4.0, "<script>alert(1)</script>")
    html = section(run)
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_a_run_without_trouble_says_so_or_why_nothing_was_recorded(tmp_path: Path) -> None:
    run = whole(tmp_path / "run")
    assert "Not recorded: no engine wrote a ring." in section(run)
    HandRing(run.folder).schedule(4.0, 1, STAYS)
    assert "No process died and no turn hung" in section(run)
