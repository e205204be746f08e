"""report.md of a comparison: the decision first, then both sides, then what it rests on and cannot tell."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.compare.criteria import Criterion, Latency
from rig.compare.decision import Comparison
from rig.compare.facts import Facts, facts_of
from rig.compare.ratio import Ratio
from rig.compare.record import AS_PLANNED, Made, Record
from rig.compare.sides import Share, Side
from rig.files import replace
from rig.report.blocks import items, plain, table
from rig.report.judgement import Judgement

REPORT_FILE = "report.md"
READ_ON = "docs/ab.md tells how to read this page, what decides, and what the exit codes mean."


def facts_from(judgement: Judgement) -> Facts:
    """What a judged run says about its side."""
    return facts_of(
        judgement.history,
        judgement.checks,
        judgement.figures,
        judgement.totals,
        judgement.sentence,
        judgement.verdict,
    )


def write(folder: Path, record: Record) -> None:
    """Write report.md of a record that has a comparison, whole or not at all. Raises RigError when that cannot be."""
    replace(folder / REPORT_FILE, render(record).encode())


def render(record: Record) -> str:
    """The whole page."""
    found = record.comparison
    assert found is not None
    blocks = [
        f"# {plain(found.decision.sentence)}",
        record.question,
        f"A is `{record.a}`, B is `{record.b}`. {_bugs(record)} {_made(record, found)}",
        "## The two sides",
        _sides(found.a, found.b),
        "## What decides",
        _criteria(found.criteria),
        "## Latencies, B to A",
        _latencies(found.latencies),
        "## What this cannot show",
        items((*found.left_out, *found.cannot_show, _other(record))),
        "## Runs",
        _runs(record.runs),
        READ_ON,
    ]
    return "\n\n".join(blocks) + "\n"


def _other(record: Record) -> str:
    return f"Latencies on other hardware than `{record.hardware_label}`."


def _bugs(record: Record) -> str:
    """What was put into both sides."""
    if not record.bugs:
        return "The rest of the server is as the pipeline file has it."
    told = ", ".join(f"`{bug}`" for bug in record.bugs)
    return f"Put into both sides: {told}; this server was broken on purpose, and nothing here is said of the release."


def _made(record: Record, found: Comparison) -> str:
    planned = f"{found.used_pairs} of {record.pairs} pairs are compared; hardware label `{record.hardware_label}`."
    return planned if record.ended == AS_PLANNED else f"{planned} The comparison is not whole: {plain(record.ended)}."


def _sides(a: Side, b: Side) -> str:
    rows: list[tuple[str, str, str]] = [
        ("runs", str(a.runs), str(b.runs)),
        ("verdicts", _counted(a.verdicts), _counted(b.verdicts)),
        ("runs with a death", _share(a.died), _share(b.died)),
        ("of these before the load", str(a.died_in_boot), str(b.died_in_boot)),
        ("first death after load start", _first(a), _first(b)),
        ("cause of death", _counted(a.causes), _counted(b.causes)),
        ("runs with lost slots, of those probed", _share(a.slots), _share(b.slots)),
        ("slots missing, at most", _slots(a), _slots(b)),
        ("turns answered", f"{a.answered_turns} of {a.turns}", f"{b.answered_turns} of {b.turns}"),
        ("turns lost", str(a.lost_turns), str(b.lost_turns)),
        ("checks failed, in runs", _counted(a.checks), _counted(b.checks)),
    ]
    return table(("what", f"A: {a.spec}", f"B: {b.spec}"), rows)


def _share(share: Share) -> str:
    return f"{share} ({share.low:.0%} to {share.high:.0%})" if share.n else "none of 0"


def _slots(side: Side) -> str:
    return str(side.lost_slots) if side.slots.n else "-"


def _first(side: Side) -> str:
    if side.first_death_s is None:
        return "-"
    middle, least, most = side.first_death_s
    return f"{middle:.1f} s ({least:.1f} to {most:.1f})"


def _counted(counts: Mapping[Any, int]) -> str:
    return "; ".join(f"{count} x {name}" for name, count in counts.items()) or "none"


def _criteria(criteria: Sequence[Criterion]) -> str:
    rows = [(one.name, one.a, one.b, "-" if one.p is None else f"{one.p:.3g}", _direction(one)) for one in criteria]
    return table(("criterion, the gravest first", "A", "B", "p", "so"), rows)


def _direction(one: Criterion) -> str:
    if one.p is None:
        return "cannot be compared"
    if one.gap == 0:
        return "no difference seen"
    return {1: "B is worse", -1: "B is better", 0: "may be chance"}[one.decided]


def _latencies(latencies: Sequence[Latency]) -> str:
    if not latencies:
        return "None: no pair in which both sides lived and the callers kept time."
    rows = [
        (one.name, str(one.p50.pairs), _ratio(one.p50), _width(one.p50), _ratio(one.p95), _width(one.p95), one.found)
        for one in latencies
    ]
    head = ("figure", "pairs", "ratio of medians (95 %)", "width", "ratio of p95 (95 %)", "width", "so")
    return table(head, rows)


def _ratio(ratio: Ratio) -> str:
    if ratio.low is None or ratio.high is None:
        return f"{ratio.value:.2f} (no interval; pairs from {ratio.smallest:.2f} to {ratio.largest:.2f})"
    return f"{ratio.value:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"


def _width(ratio: Ratio) -> str:
    return "-" if ratio.width_percent is None else f"{ratio.width_percent:.0f} %"


def _runs(runs: Sequence[Made]) -> str:
    rows = [
        (
            str(run.pair + 1),
            run.side.upper(),
            str(run.seed),
            f"[{Path(run.folder).name}]({run.folder}/report.md)",
            f"{run.server}{', reused' if run.reused else ''}",
            run.judged.verdict,
            _what(run),
        )
        for run in runs
    ]
    return table(("pair", "side", "seed", "run", "server", "verdict", "what it found"), rows)


def _what(run: Made) -> str:
    parts = [run.facts.sentence.partition(": ")[2]]
    parts += [f"cause: {run.judged.cause}"] if run.judged.died else []
    parts += [f"after the run {run.after}"] if run.after else []
    parts += [f"a new server, because {run.fresh_because}"] if run.fresh_because else []
    return "; ".join(parts)
