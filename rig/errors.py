"""Every error the rig raises on purpose.

RigError
├── UsageError          what the user gave is wrong: one line, exit code 3
│   ├── ConfigError     a config file: names file, line, key and remedy
│   └── PreflightError  the machine cannot do what was asked (port, memory, package)
├── PipelineError       the server under test did not come up or could not be stopped
├── JournalError        a journal cannot be written or is not a journal
└── BusError            the event bus cannot be started, or something on it is not of the rig
"""

import difflib
import os
from collections.abc import Iterable
from pathlib import Path


def reason(error: OSError) -> str:
    """Why the system refused, in its own words: asyncio puts a sentence with the whole address in their place."""
    # Errors of name resolution have numbers below 0, of another list.
    return os.strerror(error.errno) if error.errno is not None and error.errno > 0 else error.strerror or str(error)


def nearest(name: str, known: Iterable[str]) -> str:
    """The remedy for a name that is not known, as a clause: the known one most like it, else all of them."""
    names = sorted(known)
    if close := difflib.get_close_matches(name, names, n=1, cutoff=0.5):
        return f"did you mean `{close[0]}`?"
    return f"known here: {', '.join(names)}" if names else "check the name"


class RigError(Exception):
    """Base of every error raised on purpose."""


class UsageError(RigError):
    """The request cannot be carried out as given."""


class ConfigError(UsageError):
    """A config file is wrong.

    `line` counts from 1 and is None when no line can be named; `key` is the dotted path of the
    setting; `remedy` is a full clause that tells what to write instead.
    """

    def __init__(self, file: Path, line: int | None, key: str | None, problem: str, remedy: str) -> None:
        super().__init__(file, line, key, problem, remedy)
        self.file = file
        self.line = line
        self.key = key
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        place = str(self.file) if self.line is None else f"{self.file}:{self.line}"
        subject = "" if self.key is None else f" {self.key}:"
        return f"{place}:{subject} {self.problem}; {self.remedy}"


class PreflightError(UsageError):
    """The machine cannot run what was asked; nothing was started."""


class PipelineError(RigError):
    """The server under test did not come up, or went away while it was being started."""


class JournalError(RigError):
    """A journal cannot be written, or a file is not a journal."""


class BusError(RigError):
    """The event bus cannot be started, or a message on it is not one of the rig's."""
