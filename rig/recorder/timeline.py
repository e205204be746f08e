"""What every stage and the callers did last, on one timeline, before something went wrong.

The last LAST records of each stage until that moment, with the callers' acts in between. Where a call got stuck, also
what each stage recorded of that call's own requests before. Above it stand sentences: what the scheduler did last, and
what had happened to the requests that it did it with.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rig.clock import NS_PER_S, from_s, to_s
from rig.events.ring import Kind
from rig.events.types import LogSignature, ProcessDied
from rig.history import History
from rig.recorder.callers import CallerActs
from rig.recorder.folder import Recorded, load, stage_of
from rig.recorder.rings import Change, Raised, Record, Step
from rig.recorder.story import sentences
from rig.recorder.words import Names, described
from rig.verdict import CheckResult, Finding, Verdict

LAST = 200
ACTS_NS = 10 * NS_PER_S
"""The callers' acts of so long before the moment are shown in any case."""
OF_A_STUCK_CALL = 60
"""Records of a stuck call's requests, from before the last LAST of a stage."""
TOGETHER_NS = 5 * NS_PER_S
"""Deaths so close to the first are one moment: a dead stage takes the server down."""
MOMENTS = 2


@dataclass(frozen=True)
class Moment:
    """When something was seen to go wrong, and what. `calls` are those that got stuck."""

    t_ns: int
    what: str
    calls: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Entry:
    """A line: when, who (a stage or a call), what. `own` marks what a caller did or met."""

    t_ns: int
    who: str
    what: str
    own: bool


@dataclass(frozen=True)
class Timeline:
    """One moment with what came before it. `requests` are the full ids behind the short names."""

    moment: Moment
    sentences: tuple[str, ...]
    entries: tuple[Entry, ...]
    requests: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Timelines:
    """The timelines of a run, and what of the rings could not be read."""

    timelines: tuple[Timeline, ...]
    problems: tuple[str, ...]


def timelines_of(history: History, checks: Iterable[CheckResult], callers: CallerActs) -> Timelines:
    """A timeline for each moment that liveness or progress failed for; none in a run where neither did."""
    moments = moments_of(history, checks)
    if not moments:
        return Timelines((), ())
    recorded = load(history)
    return Timelines(tuple(timeline(recorded, callers, moment) for moment in moments), recorded.problems)


def last_timeline(history: History, callers: CallerActs) -> Timelines:
    """What was recorded last, in a run where nothing went wrong."""
    recorded = load(history)
    last_ns = max((record.t_ns for one in recorded.rings for record in one.records[-1:]), default=None)
    if last_ns is None:
        return Timelines((), recorded.problems)
    return Timelines((timeline(recorded, callers, Moment(last_ns, "the last record")),), recorded.problems)


def moments_of(history: History, checks: Iterable[CheckResult]) -> list[Moment]:
    """The first death, or fault in a log where nothing died, and the first turns that got stuck."""
    failed = {check.check: check for check in checks if check.verdict is Verdict.FAIL}
    found: list[Moment] = []
    if "liveness" in failed:
        deaths = history.deaths
        logged = [one for one in history.of(LogSignature) if not one.expected]
        if deaths:
            found.append(_death(deaths))
        elif logged:
            found.append(Moment(logged[0].t_ns, f"{logged[0].stage} logged {logged[0].signature}"))
    if (progress := failed.get("progress")) is not None and progress.findings:
        stuck = _stuck(history, progress.findings)
        if not (found and found[0].t_ns <= stuck.t_ns):
            found.append(stuck)
    return sorted(found, key=lambda moment: moment.t_ns)[:MOMENTS]


def _death(deaths: Sequence[ProcessDied]) -> Moment:
    first = deaths[0]
    others = [one for one in deaths[1:] if one.t_ns - first.t_ns <= TOGETHER_NS]
    after = f", then {', '.join(one.stage for one in others)}" if others else ""
    return Moment(first.t_ns, f"{first.stage} (pid {first.pid}) {first.how}{after}")


def _stuck(history: History, findings: Sequence[Finding]) -> Moment:
    first = findings[0]
    at_s = first.at_s
    assert at_s is not None, "progress says of every stuck turn when"
    together = [one for one in findings if one.at_s is not None and one.at_s - at_s <= to_s(TOGETHER_NS)]
    calls = frozenset(one.call for one in together if one.call is not None)
    return Moment(history.origin_ns + from_s(at_s), first.text, calls)


def timeline(recorded: Recorded, callers: CallerActs, moment: Moment) -> Timeline:
    """Everything before a moment, in order of time."""
    names = Names(callers.calls)
    entries: list[Entry] = []
    told: list[str] = []
    for one in recorded.rings:
        who = stage_of(one)
        before = [record for record in one.records if record.t_ns <= moment.t_ns]
        told += sentences(who, one, before, moment.t_ns, callers, names)
        shown = before[-LAST:]
        shown = [*_of_calls(before[:-LAST], moment.calls, names), *shown]
        entries += [Entry(record.t_ns, who, described(record, names), own=False) for record in shown]
    # An engine that hears of a caller's act seconds later has few records before it.
    since_ns = min((moment.t_ns - ACTS_NS, *(entry.t_ns for entry in entries)))
    acts = [act for act in callers.acts if since_ns <= act.t_ns <= moment.t_ns][-LAST:]
    entries += [Entry(act.t_ns, act.call, act.what, own=True) for act in acts]
    entries.sort(key=lambda entry: entry.t_ns)
    requests = sorted((short, full) for full, short in names.used.items() if short != full)
    return Timeline(moment, tuple(told), tuple(entries), tuple(requests))


def _of_calls(records: Sequence[Record], calls: frozenset[str], names: Names) -> list[Record]:
    """Of older records those about the requests of some calls, but no steps without an end."""
    if not calls:
        return []
    found = [record for record in records if any(names.call_of(name) in calls for name in _requests(record))]
    return found[-OF_A_STUCK_CALL:]


def _requests(record: Record) -> Iterable[str]:
    match record:
        case Change():
            return (record.request,)
        case Raised():
            return () if record.request is None else (record.request,)
        case Step():
            return record.tokens if record.kind is Kind.MISSING_ROWS else ()
