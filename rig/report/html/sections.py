"""The parts of the page around the timeline: verdict, incidents, tables, checks, provenance, limits."""

from collections.abc import Mapping, Sequence
from typing import Any

from rig.clock import to_s, utc_label
from rig.events import types as ev
from rig.history import History
from rig.report.banner import banner
from rig.report.html import distributions
from rig.report.html.acts import Done
from rig.report.html.gather import Gathered
from rig.report.html.incidents import BEFORE_NS, KINDS, Incident
from rig.report.html.markup import Markup, el, joined, table
from rig.report.html.stages import lives_of, signatures_by_stage
from rig.report.html.svg import glyph, glyph_of
from rig.report.judgement import Judgement
from rig.report.limits import TINY
from rig.report.limits import limits as limit_lines
from rig.report.summary import boot_told, is_tiny_cpu, peak_rss_bytes, provenance
from rig.verdict import CheckResult, Finding, Verdict

MIB = 1 << 20
FINDINGS_OPEN = 10
FINDINGS_SHOWN = 200
WORDS_SHOWN = 12
DETAILED = 3
"""So many incidents are told at once, and the call of the first; the others open on demand."""

SIGNS = {Verdict.PASS: "✔", Verdict.FAIL: "✘", Verdict.UNKNOWN: "?"}
MEANINGS = {
    Verdict.PASS: "Every check passed, and what the run file requires did happen. It speaks for this run alone.",
    Verdict.FAIL: "At least one check found a fault in the server.",
    Verdict.UNKNOWN: "No fault was found, but this run cannot be believed: it proves neither that the server is sound "
    "nor that it is not.",
}
QUESTIONS = {
    "liveness": "Did a process of the server die?",
    "progress": "Did a turn hang?",
    "connections": "Did the server drop a call?",
    "refusals": "Was a call wrongly refused?",
    "resume": "Did a resumed session keep its promise?",
    "slots": "Did every session slot come back?",
    "audio": "Was a reply lost, torn or mixed up?",
    "stale_audio": "Did a reply go on after its end?",
    "turn_identity": "Did a reply belong to another turn?",
    "memory": "Did a process leak memory?",
    "shutdown": "Did the server stop in order?",
    "completeness": "Did the planned calls really happen?",
    "rig_validity": "Did the callers keep time?",
}
FAULTS = {
    "liveness": "A process of the server died, and the rig had not asked it to stop.",
    "progress": "Callers spoke, and a reply never came or never ended: an engine hung or lost a reply.",
    "connections": "The server ended or did not take calls that it should have kept.",
    "refusals": "The server refused callers although it had room for them.",
    "resume": "A caller who resumed a session did not get it as it was: events lost, repeated or out of order.",
    "slots": "After the load, with nobody on the line, not every session slot took and answered a caller.",
    "audio": "The sound that callers got was not the whole sound of their own reply.",
    "stale_audio": "Sound of a reply came after the server had said that the reply was over.",
    "turn_identity": "A caller got a reply that belongs to another turn or to another session.",
    "memory": "A process of the server grew steadily under load: it leaks.",
    "shutdown": "The server did not stop in order when it was asked to.",
}
ANSWERS = {Verdict.PASS: "fine", Verdict.FAIL: "fault found", Verdict.UNKNOWN: "cannot tell"}


def sign(verdict: Verdict) -> Markup:
    """A verdict as shape, colour and word."""
    return el("span", el("b", SIGNS[verdict], aria_hidden="true"), f" {verdict.upper()}", class_=f"sign {verdict}")


def verdict(judgement: Judgement) -> Markup:
    """The verdict in a sentence, the label of the machine, and the checks as questions."""
    history = judgement.history
    check, sentence = _headline(judgement)
    label = TINY if is_tiny_cpu(history) else None
    broken = banner(history)
    return joined(
        [
            None if broken is None else el("p", el("strong", broken), class_="broken", role="alert"),
            el(
                "div",
                el("p", sign(judgement.verdict), class_="big"),
                el("div", el("h1", sentence), el("p", _meaning(judgement.verdict, check, history), class_="meaning")),
                class_=f"banner {judgement.verdict}",
            ),
            None if label is None else el("p", el("strong", "CPU and tiny checkpoint. "), label, class_="label"),
            el("p", el("b", "The question of this run: "), history.config.question),
            el("ul", *(_tile(check) for check in judgement.checks), class_="tiles"),
            el("p", " · ".join(_facts(judgement)), class_="facts"),
        ]
    )


def _headline(judgement: Judgement) -> tuple[str, str]:
    """The check that decided, and what it found; the verdict's own word stands beside it."""
    found = judgement.sentence.partition(": ")[2]
    check, colon, rest = found.partition(": ")
    return (check, rest) if colon and judgement.verdict is not Verdict.PASS else ("", found)


def _meaning(verdict: Verdict, check: str, history: History) -> str:
    if check == "liveness" and verdict is Verdict.FAIL and not any(life.died for life in lives_of(history)):
        return "No process of the server died, but its log shows what only a fault writes."
    if verdict is Verdict.FAIL:
        return FAULTS.get(check, MEANINGS[verdict])
    return MEANINGS[verdict]


def _tile(check: CheckResult) -> Markup:
    return el(
        "li",
        el("a", QUESTIONS.get(check.check, check.check), href=f"#check-{check.check}"),
        el("span", el("b", SIGNS[check.verdict], aria_hidden="true"), f" {ANSWERS[check.verdict]}", class_="answer"),
        class_=f"tile {check.verdict}",
    )


def _facts(judgement: Judgement) -> list[str]:
    history, totals = judgement.history, judgement.totals
    answered = totals.turns[ev.Outcome.DONE] + totals.turns[ev.Outcome.CUT]
    first = next((figure.best for figure in judgement.figures if figure.name == "first_audio"), None)
    facts = [
        f"lasted {to_s(history.last_ns - history.origin_ns):,.0f} s",
        f"{len(totals.callers):,} callers",
        f"{totals.behaviours.total():,} calls",
        f"{answered:,} of {totals.turns.total():,} turns answered and ended",
        f"{totals.barge_ins:,} barge-ins",
        f"{totals.refused:,} refusals",
    ]
    if first is not None and first.p50 is not None:
        times = f"p50 {distributions.told(first.p50, 'ms')}, p99 {distributions.told(first.p99, 'ms')}"
        facts.append(f"first audio {times}")
    return facts


def incidents(history: History, found: Sequence[Incident], gathered: Gathered) -> Markup:
    """What went wrong, when, and what the callers did just before."""
    if not found:
        if not history.of(ev.ProcessSeen):
            return el("p", "No turn got stuck and no call was lost. The server's processes and logs were not watched.")
        none = "No process of the server died or was paused, no log shows a fault, no turn got stuck, no call was lost."
        return el("p", none)
    told = []
    shown: dict[tuple[Done, ...], int] = {}
    for place, incident in enumerate(found):
        first = shown.setdefault(incident.before, place)
        told.append(_incident(place, incident, history, None if first == place else first))
    untold = gathered.troubles - len(gathered.stories)
    more = None if untold <= 0 else el("p", f"{untold} more calls went wrong later; they are counted in the timeline.")
    deaths = any(incident.kind == "death" for incident in found)
    watched = bool(history.of(ev.ProcessSeen))
    head = None if deaths or not watched else el("p", "No process of the server died.")
    return joined([head, el("ol", *told, class_="incidents"), more])


def _incident(place: int, incident: Incident, history: History, same_as: int | None) -> Markup:
    title = joined(
        [
            glyph(incident.kind),
            el("b", KINDS[incident.kind]),
            " ",
            moment(incident.at_s),
            f" ({history.phase_at(history.origin_ns + round(incident.at_s * 1e9))}): ",
            incident.what,
        ]
    )
    before = _before(incident, history) if same_as is None or not incident.before else _same(incident, same_as, history)
    body = [before, _words(incident), _lines(incident, history, is_open=place == 0)]
    return el("li", el("details", el("summary", title), *body, open=place < DETAILED), id=f"i{place}")


def _words(incident: Incident) -> Markup | None:
    lines = [line.strip("\r\n") for line in incident.words if line.strip()]
    if not lines:
        return None
    left = len(lines) - WORDS_SHOWN
    head = "Its last words" if incident.kind == "death" else "The line"
    more = f" (the last {WORDS_SHOWN} of {len(lines)} lines)" if left > 0 else ""
    return joined([el("h4", head + more), el("pre", "\n".join(lines[-WORDS_SHOWN:]), tabindex="0")])


def _same(incident: Incident, same_as: int, history: History) -> Markup:
    since = incident.since_s - to_s(incident.before[-1].t_ns - history.origin_ns)
    entry = el("a", f"entry {same_as + 1}", href=f"#i{same_as}")
    return el("p", "Before it the callers did the same as before ", entry, f"; the last act was {since:.2f} s earlier.")


def _before(incident: Incident, history: History) -> Markup:
    seconds = BEFORE_NS // 1_000_000_000
    what = "before the end of that speech" if incident.kind == "stuck" else "before"
    if not incident.before:
        return el("p", f"No caller acted in the {seconds} s {what}.")
    rows = [_done(done, incident, history) for done in incident.before]
    left = incident.before_count - len(incident.before)
    more = "" if left == 0 else f"; the last {len(rows)} of {incident.before_count} acts"
    caption = f"What all callers did in the {seconds} s {what}{more}"
    return table(
        ("seconds before", "what", "call", "had heard of the reply"), rows, caption=caption, numbers=frozenset({0})
    )


def _done(done: Done, incident: Incident, history: History) -> tuple[str | Markup, ...]:
    before = incident.since_s - to_s(done.t_ns - history.origin_ns)
    heard = "" if done.after_audio_ms is None else f"{done.after_audio_ms} ms"
    return (f"{before:.2f}", joined([glyph(done.kind) if glyph_of(done.kind) != "call" else None, done.kind]),
            done.call, heard)  # fmt: skip


def _lines(incident: Incident, history: History, *, is_open: bool) -> Markup | None:
    if not incident.lines:
        return None
    rows = [(moment(to_s(line.t_ns - history.origin_ns)), line.text) for line in incident.lines]
    caption = f"The call {incident.call} until then, without server events that only accompany others"
    story = table(("at", "what happened"), rows, caption=caption, numbers=frozenset({0}))
    return el("details", el("summary", f"The call {incident.call} until then"), story, open=is_open)


def moment(at_s: float) -> Markup:
    """A moment that leads to its place in the timeline."""
    return el("a", f"{at_s:.2f} s", href="#timeline", data_t=f"{at_s:.3f}", class_="at")


def behaviours(gathered: Gathered) -> Markup:
    """One row a behaviour."""
    rows = [
        (
            name,
            f"{row.calls:,}",
            counted(row.outcomes),
            counted(row.turns),
            counted({act: count for act, count in row.acts.items() if act != ev.Act.SAY_GOODBYE}),
            str(row.refused),
        )
        for name, row in gathered.behaviours.items()
    ]
    head = ("behaviour", "calls", "calls ended", "turns ended", "acts", "refused")
    return table(head, rows, caption="What the callers did and what came of it", numbers=frozenset({1, 5}))


def counted(counter: Mapping[str, int]) -> str:
    """Counts in words."""
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counter.items())) or "none"


def stages(history: History) -> Markup:
    """One row a process."""
    lives = lives_of(history)
    if not lives:
        return el("p", "No process of the server was watched.")
    logged = signatures_by_stage(history)
    rows = [
        (
            life.stage,
            str(life.pid),
            moment(life.from_s),
            "-" if life.to_s is None else moment(life.to_s),
            joined([glyph("death") if life.died else None, life.how]),
            _pauses(life.pauses, life.paused_s),
            _mib(life.first_rss),
            _mib(life.peak_rss),
            _mib(life.last_rss),
            counted(logged.get(life.stage, {})),
        )
        for life in lives
    ]
    head = ("stage", "pid", "seen from", "until", "how it ended", "paused", "first RSS", "peak RSS", "last RSS",
            "fault lines in its log")  # fmt: skip
    return table(head, rows, caption="Every process of the server", numbers=frozenset({1, 2, 3, 6, 7, 8}))


def _pauses(pauses: Sequence[tuple[float, float | None]], paused_s: float | None) -> str:
    if not pauses:
        return "never"
    lasted = "the last without end" if paused_s is None else f"{paused_s:.1f} s in all"
    return f"{len(pauses)} times, {lasted}"


def _mib(size: int | None) -> str:
    return "-" if size is None else f"{size / MIB:,.0f} MiB"


def checks(judgement: Judgement) -> Markup:
    """Every check with its findings; those that decided the verdict come first."""
    order = {Verdict.FAIL: 0, Verdict.UNKNOWN: 1, Verdict.PASS: 2}
    ordered = sorted(judgement.checks, key=lambda check: order[check.verdict])
    return joined(el("section", *_check(check), id=f"check-{check.check}", class_="check") for check in ordered)


def _check(check: CheckResult) -> list[Markup]:
    parts = [el("h3", sign(check.verdict), f" {check.check}"), el("p", check.summary)]
    if not check.findings:
        return parts
    shown = check.findings[:FINDINGS_SHOWN]
    items = [_finding(finding) for finding in shown]
    parts.append(el("ul", *items[:FINDINGS_OPEN], class_="findings"))
    if len(items) > FINDINGS_OPEN:
        title = el("summary", f"{len(items) - FINDINGS_OPEN} more findings")
        parts.append(el("details", title, el("ul", *items[FINDINGS_OPEN:], class_="findings")))
    left = len(check.findings) - len(shown)
    if left > 0:
        parts.append(el("p", f"{left} more are in verdict.json."))
    if check.more > 0:
        parts.append(el("p", f"{check.more} later ones were only counted."))
    return parts


def _finding(finding: Finding) -> Markup:
    at = [] if finding.at_s is None else [moment(finding.at_s), Markup(" ")]
    call = [] if finding.call is None else [el("code", finding.call), Markup(" ")]
    return el("li", *at, *call, finding.text)


def origin(judgement: Judgement) -> Markup:
    """Where the results come from: enough to repeat the run."""
    history = judgement.history
    made: dict[str, Any] = provenance(history)
    peak = peak_rss_bytes(history)
    versions = made.pop("versions", {})
    rows = [
        ("run", history.folder.name),
        ("began", utc_label(history.headers[0].wall_ns) if history.headers else "not known"),
        ("ended", _ended(history)),
        ("hardware label", history.pipeline.hardware_label),
        ("seed", str(history.config.seed)),
        ("plan", f"{len(history.plan.calls)} calls for {history.plan.callers} callers"),
        ("hash of the plan", history.plan.sha256()),
        ("boot", boot_told(history)),
        ("peak memory of the server", "not sampled" if peak is None else f"{peak / MIB:,.0f} MiB (sum of RSS)"),
        *((f"version of {name}", str(version)) for name, version in _items(versions)),
        *((name, _plain(value)) for name, value in made.items() if name not in ("seed", "plan_sha256")),
    ]
    return table(("what", "value"), rows, caption="Provenance", numbers=frozenset())


def _items(versions: object) -> list[tuple[str, object]]:
    return list(versions.items()) if isinstance(versions, dict) else []


def _plain(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _ended(history: History) -> str:
    if history.ended is None:
        return "not in order: the rig died first"
    return f"{history.ended.reason} {history.ended.detail}".strip()


def limits(judgement: Judgement) -> Markup:
    """What this run cannot tell."""
    lines = limit_lines(judgement)
    lines.append("Percentiles by bin in the timeline are within 2 %; the table of distributions is finer.")
    return el("ul", *(el("li", line) for line in lines))
