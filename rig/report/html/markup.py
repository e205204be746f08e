"""HTML that cannot be broken out of: text is escaped where it enters, and only `Markup` passes as it is.

What servers and logs say is untrusted. Controls and marks that change the direction of writing are made visible,
because they could make a reader see another text than the one that was logged.
"""

import html
import json
from collections.abc import Iterable

_PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"}
_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)
_VISIBLE = (
    _PICTURES
    | {0x7F: "\u2421"}
    | {code: f"\\x{code:02x}" for code in range(0x80, 0xA0)}
    | {code: f"\\u{code:04x}" for code in _DIRECTIONS}
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
)
_JSON_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}

VOID = frozenset({"br", "col", "hr", "meta", "link", "wbr"})

Child = str | int | None
Attribute = str | int | float | bool | None


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def visible(text: str) -> str:
    """The text with controls and direction marks as visible signs."""
    return text.translate(_VISIBLE)


def escaped(text: str) -> Markup:
    """Text as HTML, for content and for quoted attributes."""
    return text if isinstance(text, Markup) else Markup(html.escape(visible(text), quote=True))


def joined(parts: Iterable[Child]) -> Markup:
    """Parts one after the other; None is left out."""
    return Markup("".join(escaped(str(part) if isinstance(part, int) else part) for part in parts if part is not None))


def el(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """An element. Attribute names: `class_` is class, `data_t` is data-t; None and False leave one out."""
    opening = [tag]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        spelled = name.rstrip("_").replace("_", "-")
        opening.append(spelled if value is True else f'{spelled}="{escaped(str(value))}"')
    start = f"<{' '.join(opening)}>"
    return Markup(start) if tag in VOID else Markup(f"{start}{joined(children)}</{tag}>")


def script_json(content: object) -> Markup:
    """JSON that can stand in a script element: no sign of it can end the element or begin a comment."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return Markup(text.translate(_JSON_ESCAPES))


def table(head: Iterable[Child], rows: Iterable[Iterable[Child]], *, caption: str, numbers: frozenset[int]) -> Markup:
    """A table that scrolls by itself where the page is narrow; the columns in `numbers` are set to the right.

    The first cell of a row is its heading.
    """

    def css(column: int) -> str | None:
        return "num" if column in numbers else None

    heads = joined(el("th", name, scope="col", class_=css(column)) for column, name in enumerate(head))
    lines = joined(
        el(
            "tr",
            *(
                el("td" if column else "th", cell, class_=css(column), scope=None if column else "row")
                for column, cell in enumerate(row)
            ),
        )
        for row in rows
    )
    body = el("table", el("caption", caption), el("thead", el("tr", heads)), el("tbody", lines))
    return el("div", body, class_="scroll", tabindex="0", role="region", aria_label=caption)
