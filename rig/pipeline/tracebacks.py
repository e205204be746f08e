"""Python tracebacks in a log that several processes write at once, each reduced to its last line."""

import re
from collections.abc import Hashable

BEGIN = "Traceback (most recent call last)"

# vLLM: `ERROR 11-30 04:29:43 [core.py:98] text`; uvicorn: `ERROR:    text`.
_HEAD = re.compile(r"^(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)(?: \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] ?|:\s+)")
_EXCEPTION = re.compile(r"^[A-Za-z_][\w.]*(?::.*)?$")


def without_head(text: str) -> str:
    """A line without the level, time and place that the logging puts in front of it."""
    return text[match.end() :] if (match := _HEAD.match(text)) else text


class Tracebacks:
    """Follows the lines of each source, and says which one ends a traceback."""

    def __init__(self) -> None:
        self._open: set[Hashable] = set()

    def feed(self, source: Hashable, text: str) -> str | None:
        """The exception (`KeyError: 'req-1'`) when this line ends a traceback of its source, else None."""
        if BEGIN in text:
            self._open.add(source)
            return None
        if source not in self._open:
            return None
        head = _HEAD.match(text)
        if head is not None and head["level"] not in ("ERROR", "CRITICAL"):
            # An ordinary line: the traceback broke off without telling its exception.
            self._open.discard(source)
            return None
        rest = without_head(text)
        if not _EXCEPTION.match(rest):
            return None
        self._open.discard(source)
        return rest
