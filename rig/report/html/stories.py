"""What happened in a call that went wrong, line by line, for the first few such calls of a run."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

from rig.clock import NS_PER_S
from rig.events import types as ev
from rig.history import Call, History
from rig.marks import OUTPUT_RATE_HZ

KEPT_STORIES = 12
LINES_KEPT = 40
AFTER_NS = 2 * NS_PER_S

NOISE = frozenset(
    {
        "conversation.item.created",
        "conversation.item.done",
        "overlap.decision",
        "playback.acknowledged",
        "rate_limits.updated",
        "response.content_part.added",
        "response.content_part.done",
        "response.output_audio.done",
        "response.output_audio_transcript.delta",
        "response.output_audio_transcript.done",
        "response.output_item.added",
        "response.output_item.done",
        "session.heartbeat_ack",
    }
)
"""Server events that accompany others, or tell no more than that the connection lives."""

STUCK = {
    ev.Outcome.NO_REPLY: "no audio within {first_audio_s:g} s of the end of speech",
    ev.Outcome.NO_END: "no terminal event within {reply_s:g} s of the first audio",
}


@dataclass(frozen=True)
class Line:
    """One thing that happened in a call."""

    t_ns: int
    text: str


@dataclass(frozen=True)
class Story:
    """A call that went wrong: when it was noticed, since when it was wrong, and its lines until then."""

    kind: str
    t_ns: int
    since_ns: int
    call: str
    behaviour: str
    text: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Trouble:
    """Something that should not have happened to a caller, before its story is written."""

    kind: str
    t_ns: int
    since_ns: int
    text: str


def troubles(call: Call, deadlines: dict[str, float]) -> Iterator[Trouble]:
    """Turns that got stuck, and connections that the server ended or did not take, outside of refusals."""
    for turn in call.of(ev.TurnEnded):
        if turn.outcome in STUCK:
            text = f"turn {turn.turn}: {STUCK[turn.outcome].format(**deadlines)}"
            yield Trouble("stuck", turn.t_ns, _spoken_ns(call, turn.turn, turn.t_ns), text)
    refused = {event.connection for event in call.of(ev.Refused)}
    for closed in call.of(ev.ConnectionClosed):
        if closed.by is not ev.ClosedBy.CALLER and closed.connection not in refused:
            code = "without a close frame" if closed.code is None else f"with code {closed.code}"
            text = f"connection ended by the server: {closed.by} {code} {closed.reason}".rstrip()
            yield Trouble("lost", closed.t_ns, closed.t_ns, text)
    for failed in call.of(ev.ConnectFailed):
        if failed.connection not in refused:
            yield Trouble("lost", failed.t_ns, failed.t_ns, f"no connection: {failed.reason}")


def _spoken_ns(call: Call, turn: int, default_ns: int) -> int:
    return next((event.t_ns for event in reversed(call.of(ev.UtteranceEnded)) if event.turn == turn), default_ns)


class Stories:
    """The stories of the first calls in time that went wrong; all are counted."""

    def __init__(self, history: History, keep: int = KEPT_STORIES) -> None:
        self.count = 0
        self._deadlines: dict[str, float] = history.config.deadlines.model_dump()
        self._keep = keep
        self._kept: list[tuple[int, int, Story]] = []

    def see(self, call: Call) -> list[Trouble]:
        """Take a call in; returns what went wrong in it."""
        found = list(troubles(call, self._deadlines))
        for trouble in found:
            self.count += 1
            place = (-trouble.t_ns, -self.count)
            if len(self._kept) < self._keep or place > self._kept[0][:2]:
                # Only now, because most troubles of a bad run are not told.
                heapq.heappush(self._kept, (*place, story_of(call, trouble)))
            if len(self._kept) > self._keep:
                heapq.heappop(self._kept)
        return found

    def in_time(self) -> tuple[Story, ...]:
        """Those kept, in order of time."""
        return tuple(story for _, _, story in sorted(self._kept, key=lambda entry: (-entry[0], -entry[1])))


def story_of(call: Call, trouble: Trouble) -> Story:
    """The last lines of a call until shortly after its trouble."""
    lines = [line for line in lines_of(call) if line.t_ns <= trouble.t_ns + AFTER_NS]
    return Story(
        trouble.kind,
        trouble.t_ns,
        trouble.since_ns,
        call.start.call,
        call.start.behaviour,
        trouble.text,
        tuple(lines[-LINES_KEPT:]),
    )


def lines_of(call: Call) -> list[Line]:
    """All lines of a call; audio and repeated server events in a row are put together."""
    lines: list[Line] = []
    times, samples, before = 0, 0, ""
    for event in call.events:
        what = _words(event)
        if what is None:
            continue
        if what == before:
            times += 1
            samples += event.samples if isinstance(event, ev.AudioReceived) else 0
            lines[-1] = Line(lines[-1].t_ns, _repeated(what, times, samples))
            continue
        times, before = 1, what
        samples = event.samples if isinstance(event, ev.AudioReceived) else 0
        lines.append(Line(event.t_ns, _repeated(what, times, samples)))
    return lines


def _repeated(what: str, times: int, samples: int) -> str:
    told = what if times == 1 else f"{what}, {times} in a row"
    return told if samples == 0 else f"{told}, {samples / OUTPUT_RATE_HZ:.2f} s of sound"


def _words(event: ev.Event) -> str | None:  # noqa: C901 - one case an event type
    match event:
        case ev.CallStarted():
            return f"calls ({event.behaviour})"
        case ev.ConnectStarted():
            return f"connects ({event.why}, attempt {event.attempt})"
        case ev.SessionReady():
            return f"session {'resumed' if event.resumed else 'created'}: {event.session_id}"
        case ev.Refused():
            return f"refused: {event.code} {event.detail}"
        case ev.ConnectFailed():
            return f"no connection: {event.reason}"
        case ev.UtteranceStarted():
            return f"turn {event.turn}: begins to speak ({event.utterance})"
        case ev.UtteranceEnded():
            return f"turn {event.turn}: has spoken"
        case ev.ActTaken():
            heard = "" if event.after_audio_ms is None else f" after {event.after_audio_ms} ms of the reply"
            return f"turn {event.turn}: {event.act}{heard}"
        case ev.AudioReceived():
            return f"turn {event.turn}: hears audio"
        case ev.ServerEvent() if event.name not in NOISE:
            return f"server: {event.name} {event.detail}".rstrip()
        case ev.TurnEnded():
            return f"turn {event.turn}: {event.outcome}, {event.audio_ms} ms of audio in all"
        case ev.ConnectionClosed():
            return f"connection closed by {event.by}" + ("" if event.code is None else f" ({event.code})")
        case ev.CallEnded():
            return f"call over: {event.outcome} {event.detail}".rstrip()
        case ev.Surprise():
            return f"surprise: {event.what}"
    return None
