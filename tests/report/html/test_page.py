"""The page: everything in order in one file, hostile text stays text, nothing is fetched from anywhere."""

import dataclasses
import re
from pathlib import Path

import pytest

from rig.events import types as ev
from rig.fold import Guarded
from rig.report.html import page
from rig.report.html.gather import Gather
from rig.report.write import PAGE_FILE, write_all
from tests.builders import Run
from tests.report.html.runs import judged, sound, with_death, with_stuck_turn
from tests.report.html.test_markup import HOSTILE, Reader

HEADINGS = [
    "What went wrong, when, and what the callers did just before",
    "Timeline",
    "What a caller heard",
    "By behaviour",
    "By stage",
    "Checks and their evidence",
    "Provenance",
    "What this run cannot tell",
]


def test_the_verdict_comes_first_and_the_parts_follow_in_the_order_of_a_readers_questions(tmp_path: Path) -> None:
    html = page.of(judged(with_death(tmp_path / "run")))
    places = [html.index("<h1>"), *(html.index(f">{heading}</h2>") for heading in HEADINGS)]
    assert places == sorted(places)
    assert "talker (pid 102) was killed by SIGKILL at 12.50 s (load)" in html[places[0] : places[1]]


def test_what_the_callers_did_before_a_death_stands_beside_it_with_the_time_before(tmp_path: Path) -> None:
    html = page.of(judged(with_death(tmp_path / "run")))
    told = html[html.index(HEADINGS[0]) : html.index('id="h-timeline"')]
    assert re.search(r">3\.50</th><td>.*?hang_up_rst</td><td>c000-0000</td>", told)
    assert re.search(r">2\.50</th><td>.*?new_session</td>", told)
    assert "last words" in told


def test_a_run_in_which_all_is_well_says_that_nobody_died(tmp_path: Path) -> None:
    run = sound(tmp_path / "run")
    run.stop(40.0)
    assert "No process of the server died or was paused" in page.of(judged(run))


def test_the_label_of_the_tiny_checkpoint_stands_above_the_figures(tmp_path: Path) -> None:
    html = page.of(judged(with_death(tmp_path / "run")))
    assert html.index("CPU and tiny checkpoint.") < html.index(HEADINGS[0])


def test_evidence_leads_to_its_place_in_the_timeline(tmp_path: Path) -> None:
    html = page.of(judged(with_stuck_turn(tmp_path / "run")))
    checks = html[html.index(HEADINGS[5]) : html.index(HEADINGS[6])]
    assert 'href="#timeline" data-t="21.000"' in checks
    assert "<code>c001-0003</code>" in checks


def test_every_link_leads_to_a_place_on_the_page(tmp_path: Path) -> None:
    html = page.of(judged(with_stuck_turn(tmp_path / "run")))
    ids = set(re.findall(r' id="([^"]+)"', html))
    targets = set(re.findall(r'href="#([^"]*)"', html))
    assert targets
    assert targets - ids == set()
    assert len(re.findall(r' id="([^"]+)"', html)) == len(ids)


def test_nothing_is_named_that_a_browser_would_fetch(tmp_path: Path) -> None:
    read = Reader(page.of(judged(with_death(tmp_path / "run"))))
    fetched = [value for name, value in read.attributes if name in ("src", "href", "action", "poster", "srcset")]
    assert {value for value in fetched if not (value or "").startswith("#")} == {"data:,"}
    policy = dict(read.attributes)["content"] or ""
    assert "default-src 'none'" in " ".join(value or "" for name, value in read.attributes if name == "content")
    assert "http" not in policy


def hostile_run(folder: Path, text: str) -> Run:
    """The text in every place that a server, a log or a process title can fill."""
    run = sound(folder)
    run.rig(8.0, ev.ProcessSeen, pid=104, ppid=99, start_ticks=1, stage=text, title=text)
    run.rig(9.0, ev.MemorySampled, pid=104, stage=text, rss_bytes=5)
    run.rig(11.0, ev.ProcessPaused, pid=104, stage=text, paused=True)
    run.rig(11.5, ev.LogSignature, signature=text, stage=text, line=text, expected=False)
    run.dies(12.5, pid=104, stage=text, title=text, signal=text, last_lines=[text, text])
    call = "c009-0000"
    run.start_call(10.0, call, caller=9)
    run.connect(10.0, call, ready_s=10.1)
    run.call(11.0, ev.Refused, call, connection=1, code=text, detail=text)
    run.call(11.0, ev.Surprise, call, what=text)
    run.close(12.6, call, by=ev.ClosedBy.SERVER_CLOSE_FRAME, code=1011, reason=text)
    run.call(12.7, ev.ConnectFailed, call, connection=2, reason=text)
    run.call(12.8, ev.CallEnded, call, outcome=ev.Outcome.LOST, detail=text)
    run.stop(20.0, ev.EndReason.ENGINE_LOST, text)
    return run


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_adds_no_element_and_no_attribute_wherever_it_stands(tmp_path: Path, text: str) -> None:
    harmless = Reader(page.of(judged(hostile_run(tmp_path / "harmless", "harmless"))))
    hostile = Reader(page.of(judged(hostile_run(tmp_path / "hostile", text))))
    assert hostile.tags == harmless.tags
    assert [name for name, _ in hostile.attributes] == [name for name, _ in harmless.attributes]
    assert hostile.text.count(text) >= 6


def test_a_page_that_cannot_be_made_says_so_and_leaves_the_verdict(tmp_path: Path) -> None:
    good = judged(with_death(tmp_path / "run"))

    class Broken(Gather):
        def result(self) -> object:  # type: ignore[override]
            raise ValueError("<b>no bins</b>")

    broken = dataclasses.replace(good, gathered=Guarded(Broken, good.history))
    html = page.of(broken)
    assert "talker (pid 102) was killed by SIGKILL" in html
    assert "&lt;b&gt;no bins&lt;/b&gt;" in html


def test_the_page_is_written_beside_the_other_reports(tmp_path: Path) -> None:
    run = with_death(tmp_path / "run")
    write_all(judged(run))
    assert (run.folder / PAGE_FILE).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_the_same_run_makes_the_same_page(tmp_path: Path) -> None:
    run = with_stuck_turn(tmp_path / "run")
    assert page.of(judged(run)) == page.of(judged(run))


@pytest.mark.parametrize("kind", ["boot only", "external"])
def test_a_run_of_which_there_is_almost_nothing_has_a_page(tmp_path: Path, kind: str) -> None:
    from tests.builders import EXTERNAL_YAML

    run = Run(tmp_path / "run", pipeline=EXTERNAL_YAML) if kind == "external" else Run(tmp_path / "run")
    html = page.of(judged(run))
    assert "UNKNOWN" in html
    assert "could not be made" not in html
