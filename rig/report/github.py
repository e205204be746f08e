"""The step summary of GitHub Actions: a Markdown text, appended to the file that the runner names."""

import os
from collections.abc import Mapping
from pathlib import Path

from rig.errors import UsageError
from rig.report import markdown
from rig.report.blocks import plain
from rig.report.judgement import Judgement
from rig.report.limits import TINY
from rig.report.summary import is_tiny_cpu

VARIABLE = "GITHUB_STEP_SUMMARY"
MAX_BYTES = 1_000_000
"""A step may write 1 MiB; a text that is longer is cut, and says so."""

_CUT = "\n\n(cut here: the rest is in the run folder)\n"


def of_judgement(judgement: Judgement) -> str:
    """Verdict, checks and figures of a run."""
    history = judgement.history
    blocks = [
        f"# {plain(judgement.sentence)}",
        f"Run `{history.folder.resolve().name}`: {history.config.question}",
        *([f"**{TINY}**"] if is_tiny_cpu(history) else []),
        markdown.checks_table(judgement),
        markdown.figures_table(judgement.figures),
    ]
    return "\n\n".join(blocks) + "\n"


def append(text: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Append where a runner wants it; False where none does. Raises UsageError for a file that cannot be written."""
    name = environment.get(VARIABLE)
    if not name:
        return False
    told = text.encode()
    if len(told) > MAX_BYTES:
        told = told[: MAX_BYTES - len(_CUT)].decode(errors="ignore").encode() + _CUT.encode()
    try:
        with Path(name).open("ab") as file:
            file.write(told + b"\n")
    except OSError as error:
        raise UsageError(f"cannot write {name}, which {VARIABLE} names: {error.strerror}") from error
    return True
