"""comparison.md: the comparison as a text, for pull requests and step summaries."""

from rig.report.blocks import items, plain, table
from rig.report.comparison import limits, words
from rig.report.comparison.content import Comparison
from rig.report.pool import BEYOND

FEW = f"°: fewer than {BEYOND} values lie beyond this place of the distribution; chance decides it."


def render(comparison: Comparison) -> str:
    """The whole text."""
    warnings = limits.warnings(comparison)
    blocks = [
        f"# {plain(title(comparison))}",
        *(["**Before you read the figures, this comparison cannot tell:**", items(warnings)] if warnings else []),
        "## Verdicts",
        table(("side", "run", "verdict", "what it came to"), _runs(comparison)),
        table(words.heads(comparison, "check"), _checks(comparison)),
        *_failed(comparison),
        "## What happened",
        table(words.heads(comparison, "what"), words.count_rows(comparison)),
        "## What a caller heard",
        table(words.FIGURE_HEAD, (row.cells for row in words.figure_rows(comparison))),
        FEW,
        table(words.heads(comparison, "rate"), words.rate_rows(comparison)),
        "## What differs",
        _different(comparison),
        "## What this comparison cannot tell",
        items(limits.limits(comparison)),
    ]
    return "\n\n".join(blocks) + "\n"


def title(comparison: Comparison) -> str:
    """The sides by name."""
    return " against ".join(side.name for side in comparison.sides)


def _runs(comparison: Comparison) -> list[tuple[str, ...]]:
    return [(letter, name, str(verdict), said) for letter, verdict, (name, said) in words.run_rows(comparison)]


def _checks(comparison: Comparison) -> list[tuple[str, ...]]:
    return [(name, *(text for text, _ in cells)) for name, cells in words.check_rows(comparison)]


def _failed(comparison: Comparison) -> list[str]:
    found = words.failed_checks(comparison)
    if not found:
        return []
    rows = ((side, run, check, str(verdict), summary) for side, run, check, verdict, summary in found)
    return ["### Checks that did not pass", table(("side", "run", "check", "verdict", "what it found"), rows)]


def _different(comparison: Comparison) -> str:
    if not comparison.different:
        return "Nothing that the runs recorded: config, plan, versions, patches and machine are the same."
    return table(words.heads(comparison, "what"), words.different_rows(comparison))
