"""report.md: the verdict first, then what a reader asks next."""

from collections.abc import Mapping, Sequence
from typing import Any

from rig.clock import to_s, utc_label
from rig.events.types import Act
from rig.measure.figure import Figure, Stats
from rig.recorder.folder import not_recorded
from rig.report import recorder
from rig.report.banner import banner
from rig.report.blocks import items, plain, table
from rig.report.judgement import Judgement
from rig.report.limits import TINY, limits
from rig.report.summary import boot_told, is_tiny_cpu, peak_rss_bytes, provenance

GIB = 1 << 30
FINDINGS_SHOWN = 20
CORRECTED = (
    "Corrected for coordinated omission: what a stall kept callers from asking for counts as well, where they ask in a "
    "rhythm. By behaviour and by time: `figures` in summary.json."
)


def render(judgement: Judgement) -> str:
    """The whole report."""
    history = judgement.history
    broken = banner(history)
    blocks = [
        f"# {plain(judgement.sentence)}",
        *([] if broken is None else [f"**{plain(broken)}**"]),
        history.config.question,
        *([f"**{TINY}**"] if is_tiny_cpu(history) else []),
        "## Checks",
        checks_table(judgement),
        *_findings(judgement),
        *recorder.blocks(judgement.history, judgement.timelines),
        "## What a caller heard",
        figures_table(judgement.figures),
        "## What the callers did",
        _acts(judgement),
        "## The run",
        _run(judgement),
        "## What this run cannot tell",
        items(limits(judgement)),
    ]
    return "\n\n".join(blocks) + "\n"


def checks_table(judgement: Judgement) -> str:
    """Every check in one line."""
    return table(("check", "verdict", "what it found"), ((c.check, c.verdict, c.summary) for c in judgement.checks))


def _findings(judgement: Judgement) -> list[str]:
    blocks: list[str] = []
    for check in judgement.checks:
        if not check.findings:
            continue
        lines = [
            f"{'' if finding.at_s is None else f'{finding.at_s:.2f} s: '}{finding.text}"
            for finding in check.findings[:FINDINGS_SHOWN]
        ]
        if len(check.findings) > FINDINGS_SHOWN:
            lines.append(f"and {len(check.findings) - FINDINGS_SHOWN} more in verdict.json")
        if check.more > 0:
            lines.append(f"and {check.more} later ones that were only counted")
        blocks.append(f"### Findings of {check.check}\n\n" + items(lines))
    return blocks


def figures_table(figures: Sequence[Figure]) -> str:
    """Every figure in one line, then the rates."""
    rows = (
        (
            figure.name if figure.unit == "count" else f"{figure.name} ({figure.unit})",
            str(figure.n),
            *(_number(figure, value) for value in _shown(figure.uncorrected)),
            *(_number(figure, value) for value in _corrected(figure)),
            _unavailable(figure),
            figure.measurement_origin,
        )
        for figure in figures
    )
    head = ("figure", "n", "p50", "p95", "p99", "max", "p99 corrected", "max corrected", "not available", "from … to")
    return "\n\n".join((table(head, rows), CORRECTED, _rates(figures))).rstrip()


def _shown(stats: Stats) -> tuple[float | None, ...]:
    return stats.p50, stats.p95, stats.p99, stats.max


def _corrected(figure: Figure) -> tuple[float | None, ...]:
    return (None, None) if figure.corrected is None else (figure.corrected.p99, figure.corrected.max)


def _number(figure: Figure, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if figure.unit in ("ms", "count") else f"{value:.2f}"


def _rates(figures: Sequence[Figure]) -> str:
    rows = [
        (rate.name, "-" if rate.value is None else f"{rate.value:.3f}", f"{rate.hits} of {rate.cases}")
        for rate in (figure.rate for figure in figures)
        if rate is not None
    ]
    return table(("rate", "value", "cases"), rows)


def _unavailable(figure: Figure) -> str:
    return ", ".join(f"{count} {why}" for why, count in figure.unavailable.items()) or "none"


def _acts(judgement: Judgement) -> str:
    totals = judgement.totals
    acts = {act: count for act, count in totals.acts.items() if act is not Act.SAY_GOODBYE}
    rows = (
        ("calls by behaviour", _counted(totals.behaviours)),
        ("calls by outcome", _counted(totals.calls)),
        ("turns by outcome", _counted(totals.turns)),
        ("acts", _counted(acts)),
        ("sessions opened or resumed", str(totals.sessions + totals.resumed)),
        ("sessions refused", str(totals.refused)),
    )
    return table(("what", "count"), rows)


def _counted(counter: Mapping[Any, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counter.items())) or "none"


def _changes(names: list[str] | None) -> str:
    return "not recorded" if names is None else ", ".join(names) or "none"


def _run(judgement: Judgement) -> str:
    history = judgement.history
    made = provenance(history)
    peak = peak_rss_bytes(history)
    versions = made.get("versions", {})
    rows = (
        ("run", history.folder.name),
        ("began", utc_label(history.headers[0].wall_ns) if history.headers else "not known"),
        ("lasted", f"{to_s(history.last_ns - history.origin_ns):.0f} s"),
        ("hardware label", history.pipeline.hardware_label),
        ("seed", str(history.config.seed)),
        ("plan", f"{len(history.plan.calls)} calls for {history.plan.callers} callers, {history.plan.sha256()[:16]}"),
        ("boot", boot_told(history)),
        ("peak memory of the server", "not sampled" if peak is None else f"{peak / GIB:.1f} GiB (sum of RSS)"),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions.items()) or "not recorded"),
        ("engine patches", _changes(made.get("engine_patches"))),
        ("engine bugs put back", _changes(made.get("engine_bugs"))),
        ("flight recorder", not_recorded(history) or "on"),
        ("commit", str(made.get("commit", "not recorded"))),
        ("host", str(made.get("host", "not recorded"))),
    )
    return table(("what", "value"), rows)
