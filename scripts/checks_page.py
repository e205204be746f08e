"""Writes docs/checks.md from the checks and the golden server's faults: `.venv/bin/python scripts/checks_page.py`.

A house test fails when the page is not what this makes of them.
"""

import sys
from pathlib import Path

from rig.checks import CHECKS
from rig.golden.faults import FAULTS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "checks.md"
LIMITS = "Cannot see:"

HEAD = """# Checks

What a run is judged by, in the order of the report. Made from `rig/checks/` and `rig/golden/faults/` by
`scripts/checks_page.py`.

Each check reads the history of a run and is a pass, a fail or unknown, with the evidence: a sentence, the moment, the
call. Fail beats unknown beats pass. What a check cannot judge it says: *not applicable* where it never could, *not
judged* where this run gave it too little. Both are a pass. A check that crashes is unknown.

`make prove` shows that each check fails a server that has the fault it is for: the [golden server](golden.md) with one
fault at a time, 20 seeds for each fault, at least 19 of them caught by the check meant for the fault; and 50 healthy
runs that pass. Most of these faults happen once in a run.
"""


def render() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_section(name) for name in CHECKS), _table()])


def _section(name: str) -> str:
    text = sys.modules[CHECKS[name].__module__].__doc__ or ""
    proves, _, limits = text.strip().partition(LIMITS)
    found = [f"`{fault}`" for fault, entry in FAULTS.items() if entry.check == name]
    proof = (
        f"Proven by the faults {', '.join(found)}." if found else "No fault of a server is for it: it judges the rig."
    )
    return f"## {name}\n\n{proves.strip()}\n\n**{LIMITS}**{limits.rstrip()}\n\n{proof}\n"


def _table() -> str:
    rows = [f"| `{fault}` | {entry.does} | {entry.check or '-'} |" for fault, entry in FAULTS.items()]
    return (
        "\n".join(["## Faults and checks\n", "| fault | what it does | check |", "| --- | --- | --- |", *rows]) + "\n"
    )


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
