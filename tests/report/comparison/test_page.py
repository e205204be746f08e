"""comparison.html: one file, everything drawn, hostile text stays text, nothing fetched; and in a real browser."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rig.report.comparison import Side, write_comparison
from rig.report.comparison.content import compare
from rig.report.comparison.page import render
from tests.builders import RUN_YAML, edited
from tests.report.comparison.runs import HARDWARE, run_of, sides
from tests.report.golden_runs import GoldenRuns
from tests.report.html.chromium import Tab, chromium, needs_chromium
from tests.report.html.test_browser import CONTRASTS
from tests.report.html.test_markup import HOSTILE, Reader

HEADINGS = [
    "Verdicts side by side",
    "Deaths, lost turns, and what the callers did",
    "What a caller heard",
    "Distributions laid over each other",
    "What else differs",
    "What this comparison cannot tell",
]


def test_the_parts_follow_in_the_order_of_a_readers_questions_and_warnings_come_first(tmp_path: Path) -> None:
    html = render(compare(sides(tmp_path, [100], [200], run=edited(RUN_YAML, seed=8))))
    places = [html.index("<h1>"), html.index("the plans differ"), *(html.index(f">{one}</h2>") for one in HEADINGS)]
    assert places == sorted(places)


def test_every_figure_with_a_value_has_a_plot_and_every_link_a_place(tmp_path: Path) -> None:
    comparison = compare(sides(tmp_path, [100], [200]))
    html = render(comparison)
    assert html.count("data-plot=") == sum(any(figure.seen) for figure in comparison.figures) > 3
    ids = re.findall(r' id="([^"]+)"', html)
    assert set(re.findall(r'href="#([^"]*)"', html)) <= set(ids)
    assert len(set(ids)) == len(ids)


def test_nothing_is_named_that_a_browser_would_fetch(tmp_path: Path) -> None:
    read = Reader(render(compare(sides(tmp_path, [100], [200]))))
    fetched = [value for name, value in read.attributes if name in ("src", "href", "action", "poster", "srcset")]
    assert {value for value in fetched if not (value or "").startswith("#")} == {"data:,"}
    assert "default-src 'none'" in " ".join(value or "" for name, value in read.attributes if name == "content")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_adds_no_element_and_no_attribute(tmp_path: Path, text: str) -> None:
    def page(label: str, folder: Path) -> Reader:
        one = run_of(folder / "1", [100], hardware=HARDWARE | {"cpu": label})
        return Reader(render(compare([Side(label, [one]), Side("b", [run_of(folder / "2", [100])])])))

    harmless, hostile = page("harmless", tmp_path / "harmless"), page(text, tmp_path / "hostile")
    assert hostile.tags == harmless.tags
    assert [name for name, _ in hostile.attributes] == [name for name, _ in harmless.attributes]
    assert hostile.text.count(text) >= 3


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with chromium() as one:
        yield one


@pytest.fixture
def opened(tab: Tab, golden_runs: GoldenRuns, tmp_path: Path) -> Tab:
    page, _ = write_comparison(
        tmp_path, [Side("a", [golden_runs.quick]), Side("b", [golden_runs.slow, golden_runs.dying])]
    )
    tab.open(page)
    return tab


@needs_chromium
@pytest.mark.timeout(300)
def test_a_browser_opens_it_without_a_complaint_and_asks_for_nothing_but_itself(opened: Tab) -> None:
    assert opened.complaints() == []
    assert len(opened.requests()) == len([url for url in opened.requests() if url.startswith(("file:", "data:"))])
    assert len([url for url in opened.requests() if url.startswith("file:")]) == 1
    assert opened.eval("document.documentElement.classList.contains('js')")


@needs_chromium
@pytest.mark.timeout(300)
def test_arrows_read_the_numbers_of_a_plot(opened: Tab) -> None:
    output = "document.querySelector('[data-plot]').parentNode.querySelector('output').textContent"
    opened.eval("document.querySelector('[data-plot]').focus()")
    assert opened.eval(output) == ""
    opened.press("ArrowRight")
    first = opened.eval(output)
    assert re.fullmatch(r"at 1\.\d %: A [\d,.]+ ms, B [\d,.]+ ms, B ÷ A \u00d7 \d+\.\d\d", first), first
    opened.press("ArrowRight")
    assert opened.eval(output) != first
    opened.press("Home")
    assert opened.eval(output) == first
    opened.eval("document.activeElement.blur()")
    assert opened.eval(output) == ""


@needs_chromium
@pytest.mark.timeout(300)
def test_pointing_at_a_plot_reads_its_numbers(opened: Tab) -> None:
    code = """(() => { const node = document.querySelector('[data-plot]'); node.scrollIntoView({block: "center"});
    const b = node.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()"""
    left, top, width, height = opened.eval(code)
    opened.mouse("mouseMoved", left + width / 2, top + height / 2)
    opened.frame()
    assert "B ÷ A" in opened.eval("document.querySelector('[data-plot] ~ output').textContent")


@needs_chromium
@pytest.mark.timeout(300)
def test_without_script_everything_is_drawn_and_nothing_is_offered_that_does_not_work(
    tab: Tab, golden_runs: GoldenRuns, tmp_path: Path
) -> None:
    page, _ = write_comparison(tmp_path, [Side("a", [golden_runs.quick]), Side("b", [golden_runs.slow])])
    # The policy names the script by its hash: another hash, and the browser runs none.
    page.write_text(page.read_text(encoding="utf-8").replace("sha256-", "sha256-x"), encoding="utf-8")
    tab.open(page)
    assert not tab.eval("document.documentElement.classList.contains('js')")
    assert tab.eval("document.querySelectorAll('.curves path[d^=M]').length") > 10
    assert tab.eval("getComputedStyle(document.querySelector('p .scripted')).display") == "none"


@needs_chromium
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground_in_both_schemes(opened: Tab, scheme: str) -> None:
    opened.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    try:
        ratios = opened.eval(CONTRASTS)
    finally:
        opened.ask("Emulation.setEmulatedMedia", features=[])
    assert len(ratios) > 5
    assert {text: ratio for text, ratio in ratios if ratio < 4.5} == {}


@needs_chromium
@pytest.mark.timeout(300)
def test_a_narrow_window_does_not_scroll_sideways(opened: Tab) -> None:
    opened.ask("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=False)
    try:
        opened.frame()
        assert opened.eval("document.documentElement.scrollWidth") <= 360
    finally:
        opened.ask("Emulation.clearDeviceMetricsOverride")


@needs_chromium
@pytest.mark.timeout(300)
def test_sides_are_told_apart_without_colour(opened: Tab) -> None:
    dashes = opened.eval(
        "['A', 'B'].map((side) => getComputedStyle(document.querySelector('.curves .side-' + side)).strokeDasharray)"
    )
    assert len(set(dashes)) == 2
