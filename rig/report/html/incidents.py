"""What went wrong, one after the other: deaths, pauses, fault lines in logs, calls that got stuck or were lost.

Each with what all callers did in the ten seconds before. In the order in which they were noticed: a call that got stuck
when a process was paused or died comes after that.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from rig.clock import NS_PER_S, from_s, to_s
from rig.events import types as ev
from rig.explained import unexplained
from rig.history import History
from rig.report.html.acts import Done
from rig.report.html.gather import Gathered
from rig.report.html.stages import Life, lives_of
from rig.report.html.stories import Line

BEFORE_NS = 10 * NS_PER_S
ACTS_SHOWN = 30
KEPT = 40
"""Of each kind; a run with more has one trouble, told often enough."""

KINDS = {
    "death": "process died",
    "pause": "process paused",
    "log": "fault in a log",
    "stuck": "turn stuck",
    "lost": "connection lost",
}


@dataclass(frozen=True)
class Incident:
    """One thing that went wrong. `since_s` is when it began, where that is earlier than when it was noticed."""

    kind: str
    at_s: float
    since_s: float
    what: str
    call: str | None
    words: tuple[str, ...]
    before: tuple[Done, ...]
    before_count: int
    lines: tuple[Line, ...]


def incidents_of(history: History, gathered: Gathered) -> list[Incident]:
    """All incidents that are told, in order of time."""
    lives = lives_of(history)
    found = [
        *_some(_deaths(history, gathered, lives)),
        *_some(_pauses(history, gathered, lives)),
        *_some(_logged(history, gathered)),
        *_told(history, gathered),
    ]
    return sorted(found, key=lambda incident: incident.at_s)


def _some(incidents: Iterator[Incident]) -> Iterator[Incident]:
    for _, incident in zip(range(KEPT), incidents, strict=False):
        yield incident


def _deaths(history: History, gathered: Gathered, lives: list[Life]) -> Iterator[Incident]:
    for life in lives:
        if life.died and life.to_s is not None:
            what = f"{life.stage} (pid {life.pid}) {life.how}"
            yield _incident(history, gathered, "death", life.to_s, what, words=life.last_lines)


def _pauses(history: History, gathered: Gathered, lives: list[Life]) -> Iterator[Incident]:
    for life in lives:
        for begin_s, end_s in life.pauses:
            lasted = "and never went on" if end_s is None else f"for {end_s - begin_s:.1f} s"
            yield _incident(history, gathered, "pause", begin_s, f"{life.stage} (pid {life.pid}) was stopped {lasted}")


def _logged(history: History, gathered: Gathered) -> Iterator[Incident]:
    """The first line of each signature of each stage, with how many there were."""
    logged = [event for event in history.of(ev.LogSignature) if not event.expected]
    groups: dict[tuple[str, str], list[ev.LogSignature]] = {}
    for event in unexplained(logged, gathered.early_hang_ups_ns):
        groups.setdefault((event.stage, event.signature), []).append(event)
    for (stage, signature), events in groups.items():
        count = sum(1 + event.left_out for event in events)
        times = "" if count == 1 else f", {count} times, first"
        at_s = to_s(events[0].t_ns - history.origin_ns)
        what = f"{stage} logged {signature}{times}"
        yield _incident(history, gathered, "log", at_s, what, words=(events[0].line,))


def _told(history: History, gathered: Gathered) -> Iterator[Incident]:
    for story in gathered.stories:
        at_s, since_s = (to_s(t_ns - history.origin_ns) for t_ns in (story.t_ns, story.since_ns))
        what = f"{story.call} ({story.behaviour}): {story.text}"
        yield _incident(
            history, gathered, story.kind, at_s, what, since_s=since_s, call=story.call, lines=story.lines
        )  # fmt: skip


def _incident(
    history: History,
    gathered: Gathered,
    kind: str,
    at_s: float,
    what: str,
    *,
    since_s: float | None = None,
    call: str | None = None,
    words: tuple[str, ...] = (),
    lines: tuple[Line, ...] = (),
) -> Incident:
    since_s = at_s if since_s is None else since_s
    since_ns = history.origin_ns + from_s(since_s)
    before = [act for act in gathered.acts.between(since_ns - BEFORE_NS, since_ns) if act.kind != "say_goodbye"]
    return Incident(kind, at_s, since_s, what, call, words, tuple(before[-ACTS_SHOWN:]), len(before), lines)
