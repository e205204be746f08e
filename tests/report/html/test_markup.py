"""Markup: whatever a server or a log says stays text."""

import json
from html.parser import HTMLParser

import pytest

from rig.report.html.markup import Markup, el, escaped, joined, script_json, table, visible

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' autofocus onfocus='alert(1)",
    "<!--",
    "]]>",
    "&lt;b&gt;",
)


class Reader(HTMLParser):
    """Reads HTML back: the elements and attributes found, and the text."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.extend(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_read_back_as_the_same_text(text: str) -> None:
    read = Reader(el("p", text, title=text))
    assert read.tags == ["p"]
    assert read.text == text
    assert read.attributes == [("title", text)]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_json_cannot_end_its_script_and_is_read_back_whole(text: str) -> None:
    source = script_json({text: [text, "\u2028", None, 1.5]})
    assert "<" not in source
    assert ">" not in source
    assert "\u2028" not in source
    assert json.loads(source) == {text: [text, "\u2028", None, 1.5]}


def test_markup_passes_as_it_is_and_joining_it_with_text_escapes_again() -> None:
    bold = el("b", "x")
    assert el("p", bold) == "<p><b>x</b></p>"
    assert type(escaped(bold)) is Markup
    assert el("p", bold + "<i>") == "<p>&lt;b&gt;x&lt;/b&gt;&lt;i&gt;</p>"


def test_attributes_are_spelled_and_left_out_as_told() -> None:
    element = el("a", None, 3, class_="at", data_t=1.5, hidden=True, title=None, open=False)
    assert element == '<a class="at" data-t="1.5" hidden>3</a>'
    assert el("meta", charset="utf-8") == '<meta charset="utf-8">'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\r", "\u241b[31mred\u240d"),
        ("a\x00b\x7f", "a\u2400b\u2421"),
        ("\x9b", "\\x9b"),
        ("ab\u202egnp.exe", "ab\\u202egnp.exe"),
        ("\ud800", "\ufffd"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_signs_that_nobody_sees_are_made_visible(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert escaped(text).encode() == shown.encode()


def test_joined_leaves_out_nothing_but_none() -> None:
    assert joined(["", None, "a", 0, "<"]) == "a0&lt;"


def test_a_table_has_a_caption_headings_for_columns_and_rows_and_can_be_reached_by_keyboard() -> None:
    made = table(("stage", "pid"), [("thinker", "7")], caption="Stages", numbers=frozenset({1}))
    assert "<caption>Stages</caption>" in made
    assert '<th scope="col" class="num">pid</th>' in made
    assert '<th scope="row">thinker</th><td class="num">7</td>' in made
    assert 'tabindex="0" role="region" aria-label="Stages"' in made
