"""The files a judgement leaves in the results folder. They are derived: judging again makes them anew."""

import msgspec

from rig.files import replace
from rig.metrics.board import openmetrics_text, prometheus_text
from rig.report import junit, markdown, metrics, summary
from rig.report.banner import engine_bugs
from rig.report.html import page
from rig.report.judgement import Judgement

VERDICT_FILE = "verdict.json"
SUMMARY_FILE = "summary.json"
REPORT_FILE = "report.md"
PAGE_FILE = "report.html"
JUNIT_FILE = "junit.xml"
PROMETHEUS_FILE = "metrics.prom"
OPENMETRICS_FILE = "metrics.openmetrics"
REPORT_FILES = (
    VERDICT_FILE,
    SUMMARY_FILE,
    REPORT_FILE,
    PAGE_FILE,
    JUNIT_FILE,
    PROMETHEUS_FILE,
    OPENMETRICS_FILE,
)


def write_all(judgement: Judgement) -> None:
    """Write every one of REPORT_FILES, each whole or not at all."""
    folder = judgement.history.folder
    verdict = {
        "verdict": judgement.verdict,
        "exit_code": judgement.verdict.exit_code,
        "sentence": judgement.sentence,
        "engine_bugs": engine_bugs(judgement.history),
        "checks": judgement.checks,
    }
    replace(folder / VERDICT_FILE, _json(verdict))
    replace(folder / SUMMARY_FILE, _json(summary.summarise(judgement)))
    replace(folder / REPORT_FILE, markdown.render(judgement).encode())
    replace(folder / PAGE_FILE, page.of(judgement).encode())
    replace(folder / JUNIT_FILE, junit.render(judgement))
    replace(folder / PROMETHEUS_FILE, prometheus_text(judgement.metrics))
    replace(folder / OPENMETRICS_FILE, openmetrics_text(judgement.metrics, metrics.ended_s(judgement.history)))


def _json(content: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"
