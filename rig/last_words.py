"""What a process said in its last lines: the exception that it died of."""

import re
from collections.abc import Iterable, Iterator, Sequence

FATAL = "encountered a fatal error"
_FRAME = re.compile(r'File "[^"]*", line \d+, in (?P<function>\S+)')
_EXCEPTION = re.compile(r"(?:^|\] )(?P<name>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit))(?::.*)?$")
_SECOND_HAND = frozenset({"EngineDeadError", "EngineGenerateError"})
"""Raised by those who find another process dead: never the cause."""


def exception_in(lines: Sequence[str]) -> str:
    """What a process died of, from its log: an exception with the function that raised it; empty for none.

    The first one after the line with which an engine core announces its end, without such a line the last one.
    """
    end = next((place for place, line in enumerate(lines) if FATAL in line), None)
    found = list(_exceptions(lines[end or 0 :]))
    return "" if not found else found[-1 if end is None else 0]


def died_of(lines: Sequence[str]) -> str:
    """The exception that is a process's last word, with its function; empty where it said something else after it."""
    last = next((line.rstrip() for line in reversed(lines) if line.strip()), "")
    return exception_in(lines) if _EXCEPTION.search(last) else ""


def _exceptions(lines: Iterable[str]) -> Iterator[str]:
    """Every exception that ends a traceback."""
    function = ""
    for line in lines:
        if frame := _FRAME.search(line):
            function = frame["function"]
        elif (found := _EXCEPTION.search(line.rstrip())) and function:
            name = found["name"].rpartition(".")[2]
            if name not in _SECOND_HAND:
                yield f"{name} in {function}"
            function = ""
