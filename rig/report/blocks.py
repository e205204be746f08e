"""Parts of a Markdown text that stay what they are whatever is told in them: a server's log can hold anything."""

import re
from collections.abc import Iterable, Sequence
from html import escape


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; see `plain` for its cells, in which bars are escaped as well."""
    first, *others = ("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in (head, *rows))
    return "\n".join((first, "|" + " --- |" * len(head), *others))


def _cell(text: str) -> str:
    return plain(str(text)).replace("|", "\\|")


def items(lines: Iterable[str]) -> str:
    """A Markdown list, each line `plain`."""
    return "\n".join(f"- {plain(line)}" for line in lines)


def plain(text: str) -> str:
    """One line in which no HTML is: what looks like it is shown as it was written."""
    return escape(" ".join(text.splitlines()), quote=False)


def fenced(lines: Iterable[str]) -> str:
    """A code block that holds the lines as they are, and that no line of them can end."""
    text = "\n".join(lines)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"
