"""A lane a caller: sessions, speech, replies and acts, one by one. Only runs that are small enough get lanes."""

from collections.abc import Sequence
from dataclasses import dataclass

from rig.events import types as ev
from rig.history import Call

MAX_CALLERS = 24
MAX_PIECES = 4_000


@dataclass(frozen=True)
class Span:
    """A session, an utterance or a reply of a caller, as it was seen from outside."""

    kind: str
    from_ns: int
    to_ns: int
    text: str


@dataclass(frozen=True)
class Dot:
    """Something a caller did, or that happened to them."""

    kind: str
    t_ns: int
    text: str


class Lanes:
    """Spans and dots by caller, until there are too many of either: then there is None."""

    def __init__(self) -> None:
        self._spans: dict[int, list[Span]] | None = {}
        self._dots: dict[int, list[Dot]] = {}
        self._pieces = 0

    def see(self, call: Call) -> None:
        """Take a call in."""
        if self._spans is None:
            return
        spans, dots = spans_of(call), dots_of(call)
        caller = call.start.caller
        self._spans.setdefault(caller, []).extend(spans)
        self._dots.setdefault(caller, []).extend(dots)
        self._pieces += len(spans) + len(dots)
        if self._pieces > MAX_PIECES or len(self._spans) > MAX_CALLERS:
            self._spans = None
            self._dots.clear()

    def by_caller(self) -> dict[int, tuple[Sequence[Span], Sequence[Dot]]] | None:
        """The lanes, in order of the callers."""
        if self._spans is None:
            return None
        return {caller: (self._spans[caller], self._dots[caller]) for caller in sorted(self._spans)}


def spans_of(call: Call) -> list[Span]:
    """What lasted."""
    end_ns = call.events[-1].t_ns
    closed = {event.connection: event.t_ns for event in call.of(ev.ConnectionClosed)}
    spans = [
        Span("session", event.t_ns, closed.get(event.connection, end_ns), f"{event.call}: session {event.session_id}")
        for event in call.of(ev.SessionReady)
    ]
    spoken = {event.turn: event.t_ns for event in call.of(ev.UtteranceEnded)}
    for begun in call.of(ev.UtteranceStarted):
        until_ns = spoken.get(begun.turn, closed.get(begun.connection, end_ns))
        spans.append(Span("speech", begun.t_ns, max(until_ns, begun.t_ns), f"{begun.call}: says {begun.utterance}"))
    for reply in call.replies.values():
        text = f"{call.start.call}: hears the reply to turn {reply[0].turn}"
        spans.append(Span("reply", reply[0].t_ns, reply[-1].t_ns, text))
    return spans


def dots_of(call: Call) -> list[Dot]:
    """What happened at once. The goodbye that ends every call in order is left out."""
    dots = [
        Dot(event.act, event.t_ns, f"{event.call}: {event.act}")
        for event in call.of(ev.ActTaken)
        if event.act is not ev.Act.SAY_GOODBYE
    ]
    dots += [
        Dot("resume" if event.why is ev.Connect.RESUME else "new_session", event.t_ns, f"{event.call}: comes back")
        for event in call.of(ev.ConnectStarted)
        if event.why is not ev.Connect.FIRST and event.attempt == 1
    ]
    dots += [Dot("refused", event.t_ns, f"{event.call}: refused, {event.code}") for event in call.of(ev.Refused)]
    return dots
