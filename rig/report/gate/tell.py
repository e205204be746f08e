"""The decision in words: for a terminal, for a step summary, and as gate.json in the run's folder."""

import msgspec

from rig.report.blocks import plain, table
from rig.report.gate.decide import Decision

GATE_FILE = "gate.json"


def as_text(decision: Decision) -> str:
    """One line a limit, or one a fact that keeps the baseline from counting; the sentence comes last."""
    lines = [f"{line.state:11} {line.what}: {line.text}" for line in decision.lines]
    lines += [f"differs     {each.key}: baseline {each.left}, run {each.right}" for each in decision.differing]
    lines += [f"under test  {each.key}: baseline {each.left}, run {each.right}" for each in decision.under_test]
    return "\n".join([*lines, f"run {decision.run} (verdict {decision.verdict}) against {decision.baseline}",
                      decision.sentence])  # fmt: skip


def as_markdown(decision: Decision) -> str:
    """For a step summary."""
    blocks = [
        f"# Gate: {plain(decision.sentence)}",
        f"Run `{decision.run}` (verdict {decision.verdict}) against `{decision.baseline}`.",
    ]
    if decision.lines:
        rows = ((line.what, str(line.state), line.text) for line in decision.lines)
        blocks.append(table(("limit", "state", "value"), rows))
    for title, found in (("differs", decision.differing), ("under test", decision.under_test)):
        if found:
            blocks.append(table((title, "baseline", "run"), ((each.key, each.left, each.right) for each in found)))
    return "\n\n".join(blocks) + "\n"


def as_json(decision: Decision) -> bytes:
    """gate.json."""
    content = {"exit_code": decision.answer.exit_code, **msgspec.to_builtins(decision)}
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
