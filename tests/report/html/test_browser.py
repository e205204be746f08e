"""The page in a real browser: no complaint, no request, zoom by keys and mouse, and nothing lost without script."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rig.report.html import page
from tests.report.html.chromium import Tab, chromium, needs_chromium
from tests.report.html.runs import judged, with_death, with_stuck_turn
from tests.report.html.test_markup import HOSTILE
from tests.report.html.test_page import hostile_run

pytestmark = needs_chromium

VIEW = "document.querySelector('#timeline svg.z').getAttribute('viewBox').split(' ').map(Number)"
SPAN_S = 20.0
BINS = 80
"""The run lasts 20 s; a bin is 0.25 s."""


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with chromium() as one:
        yield one


@pytest.fixture
def died(tab: Tab, tmp_path: Path) -> Tab:
    return opened(tab, tmp_path, page.of(judged(with_death(tmp_path / "run"))))


def opened(tab: Tab, folder: Path, html: str) -> Tab:
    path = folder / "report.html"
    path.write_text(html, encoding="utf-8")
    tab.open(path)
    return tab


def seen(tab: Tab) -> tuple[float, float]:
    """The first bin in view, and how many are."""
    begin, _, width, _ = tab.eval(VIEW)
    return begin, width


def box(tab: Tab, selector: str) -> tuple[float, float, float, float]:
    """Left, top, width and height of an element in the window, which is scrolled to it."""
    code = f"""(() => {{ const node = document.querySelector({selector!r}); node.scrollIntoView({{block: "center"}});
    const b = node.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; }})()"""
    left, top, width, height = tab.eval(code)
    return left, top, width, height


def test_the_page_opens_without_a_complaint_and_asks_for_nothing_but_itself(died: Tab) -> None:
    assert died.complaints() == []
    assert [url for url in died.requests() if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in died.requests() if url.startswith("file:")]) == 1
    assert died.eval("document.documentElement.classList.contains('js')")


def test_a_script_that_is_not_the_pages_own_does_not_run(tab: Tab, tmp_path: Path) -> None:
    """The policy holds even if a text came through unescaped."""
    html = page.of(judged(with_death(tmp_path / "run")))
    injected = html.replace(
        "</main>", "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'></main>"
    )
    assert injected != html
    opened(tab, tmp_path, injected)
    assert tab.eval("window.hacked") is None
    assert any("Content Security Policy" in complaint for complaint in tab.complaints())


def test_hostile_texts_do_nothing(tab: Tab, tmp_path: Path) -> None:
    text = " ".join(HOSTILE)
    opened(tab, tmp_path, page.of(judged(hostile_run(tmp_path / "run", text))))
    assert tab.complaints() == []
    assert tab.eval("document.querySelectorAll('img, main script').length") == 0
    assert text in tab.eval("document.querySelector('pre').textContent")


def test_plus_zooms_in_and_zero_shows_the_whole_run_again(died: Tab) -> None:
    died.eval("document.getElementById('timeline').focus()")
    whole = seen(died)
    assert whole[0] == 0
    assert whole[1] == pytest.approx(BINS)
    died.press("+")
    begin, width = seen(died)
    assert width == pytest.approx(whole[1] / 2)
    assert begin == pytest.approx(whole[1] / 4)
    died.press("ArrowRight")
    assert seen(died)[0] > begin
    died.press("-")
    died.press("0")
    assert seen(died) == whole


def test_n_goes_to_the_incident_and_its_mark_is_in_the_middle(died: Tab) -> None:
    died.eval("document.getElementById('timeline').focus()")
    died.press("+")
    died.press("+")
    died.press("n")
    begin, width = seen(died)
    at = died.eval("Number(document.querySelector('a.mark').dataset.x)")
    assert at == pytest.approx(12.5 / 0.25)
    assert begin < at < begin + width
    assert "Cursor at" in died.eval("document.getElementById('view').textContent")


def test_shift_and_arrows_read_the_numbers_bin_by_bin(died: Tab) -> None:
    died.eval("document.getElementById('timeline').focus()")
    died.press("n")
    before = died.eval("document.getElementById('view').textContent")
    died.press("ArrowRight", shift=True)
    assert died.eval("document.getElementById('view').textContent") != before
    assert died.eval("document.querySelectorAll('output.live').length") > 5


def test_keys_work_only_in_the_timeline(died: Tab) -> None:
    died.eval("document.activeElement.blur()")
    died.press("+")
    assert seen(died)[1] == pytest.approx(BINS, abs=1)


def test_dragging_over_a_stretch_of_time_shows_that_stretch(died: Tab) -> None:
    left, top, width, _ = box(died, "#ticks")
    for kind, part in (("mousePressed", 0.25), ("mouseMoved", 0.4), ("mouseMoved", 0.5), ("mouseReleased", 0.5)):
        died.mouse(kind, left + part * width, top + 5, button="left", buttons=1, clickCount=1)
    died.frame()
    begin, span = seen(died)
    assert begin == pytest.approx(0.25 * BINS, abs=1)
    assert span == pytest.approx(0.25 * BINS, abs=1)


def test_control_and_wheel_zoom_around_the_pointer_and_the_wheel_alone_does_not(died: Tab) -> None:
    left, top, width, _ = box(died, "#ticks")
    x, y = left + 0.75 * width, top + 5
    died.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120)
    died.frame()
    assert seen(died)[1] == pytest.approx(BINS, abs=1)
    left, top, width, _ = box(died, "#ticks")
    died.mouse("mouseWheel", x, top + 5, deltaX=0, deltaY=-120, modifiers=2)
    died.frame()
    begin, span = seen(died)
    assert span == pytest.approx(0.8 * BINS, abs=1)
    assert begin + 0.75 * span == pytest.approx(0.75 * BINS, abs=1)


def test_the_buttons_zoom_too(died: Tab) -> None:
    died.eval("document.getElementById('zoom-in').click()")
    assert seen(died)[1] == pytest.approx(BINS / 2, abs=1)
    died.eval("document.getElementById('whole').click()")
    assert seen(died)[1] == pytest.approx(BINS, abs=1)


def test_pointing_at_a_place_reads_its_numbers(died: Tab) -> None:
    left, top, width, height = box(died, ".tall .plot")
    at = 6.5 / SPAN_S
    died.mouse("mouseMoved", left + at * width, top + height / 2)
    died.frame()
    shown = died.eval("document.querySelector('.tall output').textContent")
    assert "p50" in shown
    assert "turns" in shown


def test_a_time_in_the_evidence_leads_to_its_place(tab: Tab, tmp_path: Path) -> None:
    opened(tab, tmp_path, page.of(judged(with_stuck_turn(tmp_path / "run"))))
    tab.eval("document.querySelector('.check a.at').click()")
    tab.frame()
    assert "Cursor at 21.00 s" in tab.eval("document.getElementById('view').textContent")
    assert tab.eval("document.activeElement.id") == "timeline"


def test_a_mark_leads_to_its_incident_and_opens_it(died: Tab) -> None:
    died.eval("document.querySelector('#i0 details').open = false")
    died.eval("document.querySelector('a.mark').click()")
    assert died.eval("document.querySelector('#i0 details').open")


def test_without_script_everything_is_there_and_nothing_is_offered_that_does_not_work(tab: Tab, tmp_path: Path) -> None:
    html = page.of(judged(with_death(tmp_path / "run")))
    # The policy names the script by its hash: another hash, and the browser runs none.
    opened(tab, tmp_path, html.replace("sha256-", "sha256-x"))
    assert not tab.eval("document.documentElement.classList.contains('js')")
    _, _, width, height = box(tab, ".tall .plot")
    assert width > 300
    assert height > 50
    assert tab.eval("document.querySelectorAll('#timeline svg.z path[d^=M]').length") > 5
    assert tab.eval("document.querySelectorAll('#ticks .tick').length") > 3
    assert "SIGKILL" in tab.eval("document.querySelector('h1').innerText")
    assert tab.eval("getComputedStyle(document.querySelector('.controls')).display") == "none"


def test_a_narrow_window_does_not_scroll_sideways(died: Tab) -> None:
    died.ask("Emulation.setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=1, mobile=False)
    try:
        died.frame()
        assert died.eval("document.documentElement.scrollWidth") <= 360
        rows = died.eval("[...document.querySelectorAll('tbody tr')].map((row) => row.offsetHeight)")
        assert max(rows) < 150
    finally:
        died.ask("Emulation.clearDeviceMetricsOverride")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground_in_both_schemes(died: Tab, scheme: str) -> None:
    died.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    try:
        ratios = died.eval(CONTRASTS)
    finally:
        died.ask("Emulation.setEmulatedMedia", features=[])
    assert len(ratios) > 5
    assert {text: ratio for text, ratio in ratios if ratio < 4.5} == {}


CONTRASTS = """(() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (text) => { const [r, g, b] = parts(text).map((v) => { v /= 255;
    return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (node) => { for (let at = node; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor, p = parts(colour); if (p.length < 4 || p[3] > 0) return colour;
  } return "rgb(255,255,255)"; };
  return ["h1", ".big", ".meaning", ".label", ".tile.fail .answer", ".tile.pass .answer", "a.at", ".note", "caption",
    ".lab small", ".tick", ".phase", "td", "pre", "button"].flatMap((name) => {
    const node = document.querySelector(name); if (!node) return [];
    const a = light(getComputedStyle(node).color), b = light(ground(node));
    return [[name, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]]; });
})()"""
