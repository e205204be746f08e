"""What a run cannot tell, the same words in every report."""

from rig.report.judgement import Judgement
from rig.report.summary import is_tiny_cpu
from rig.verdict import Verdict

TINY = (
    "These figures come from a CPU and a tiny checkpoint. They prove engine behaviour. They say nothing about voice "
    "quality or about the speed of a GPU."
)
ALWAYS = (
    "Whether replies make sense or sound like speech: nothing here listens to words.",
    "What a server would do beyond the calls that were made: no finding is no proof.",
)
CONFIDENCE = 0.95


def limits(judgement: Judgement) -> list[str]:
    """One sentence each."""
    lines = [TINY] if is_tiny_cpu(judgement.history) else []
    lines += ALWAYS
    if judgement.verdict is Verdict.PASS and judgement.totals.sessions:
        lines.append(_bound_told(judgement.totals.sessions))
    return lines + [f"{check.check}: {check.summary}" for check in judgement.checks if check.verdict is Verdict.UNKNOWN]


def failure_bound(sessions: int) -> float:
    """The largest share of failing sessions at which none of `sessions` fails once in 20 such runs, from 0 to 1.

    1 - 0.05^(1/n), the exact bound that the rule of three (3/n) approximates; it takes sessions as independent.
    """
    return float(1 - (1 - CONFIDENCE) ** (1 / sessions))


def _bound_told(sessions: int) -> str:
    share = failure_bound(sessions) * 100
    return (
        f"How rare a fault is: {sessions} sessions without one leave room for up to {share:.2g} % of such sessions "
        "to meet one (95 % bound, sessions taken as independent). A longer soak lowers it."
    )
