"""The metrics of a run that is over: those served while it went on, and the verdict, from its folder alone."""

from typing import TYPE_CHECKING

from prometheus_client.metrics_core import Metric as Family

from rig.fold import Crash
from rig.history import History
from rig.metrics.board import Board, families
from rig.metrics.calls import CallCounts
from rig.metrics.common import put_journals, put_plan, working
from rig.metrics.facts import Facts
from rig.metrics.figures import figures_board

if TYPE_CHECKING:
    from rig.report.judgement import Judgement


def judged(judgement: "Judgement") -> list[Family]:
    """A run that is over: the same metrics, and the verdict; those of the calls are absent where counting crashed."""
    history, facts, now = judgement.history, Facts(), Board()
    facts.take_all(history.events)
    counts = _counts(judgement)
    damage = history.damage
    put_journals(now, sum(one.missing for one in damage), sum(len(one.bad_lines) for one in damage))
    put_plan(now, history.folder.name, history.config, history.pipeline, history.plan, counts)
    now.set("rig_verdict", judgement.verdict.exit_code)
    for check in judgement.checks:
        now.set("rig_check_verdict", check.verdict.exit_code, check.check)
        found = len(check.findings) + check.more
        if found > 0 or check.check != "liveness" or facts.watched:
            now.set("rig_check_findings", found, check.check)
    figures = figures_board(working(judgement.measures))
    counted = () if counts is None else (counts.board, counts.gauges())
    return families((now, facts.board, facts.gauges(history.heard_ns), *counted, figures))


def _counts(judgement: "Judgement") -> CallCounts | None:
    try:
        return judgement.counts.result()
    except Crash:
        return None


def ended_s(history: History) -> float | None:
    """Unix time of the last event of the rig; None when the start of its journal is lost."""
    facts = Facts()
    facts.take_all(history.headers)
    return facts.wall_s(history.heard_ns)
