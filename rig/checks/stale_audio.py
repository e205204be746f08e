"""Stale audio: nothing of a reply is heard after the server has said that the reply is over.

A reply is over with its terminal event (`response.done`: the answer to a cancel or a barge-in, or its own end), with
`output_audio_buffer.cleared`, and with the end of its session. Every chunk of it that is read later on is stale. The
allowance for sound in flight is nothing: one connection is one ordered stream, and what follows the terminal event
was sent after it; a resume replays the events in the same order. Sound between a barge-in and its answer is no fault
but a time: the figures `barge_in_stop_*`.
Cannot see: what comes after the caller has left. A caller stays on the line for a second after a cut reply.
"""

from collections import Counter

from rig.clock import to_s
from rig.events.types import AudioReceived, Outcome, ServerEvent, SessionReady, TurnEnded
from rig.fold import Fold
from rig.history import Call, History
from rig.marks import OUTPUT_RATE_HZ
from rig.verdict import CheckResult, Finding, Findings, Verdict

TERMINAL = "response.done"
CLEARED = "output_audio_buffer.cleared"
ENDS = frozenset({TERMINAL, CLEARED})
SESSION_ENDS = frozenset({"session.closed", "session.expired", "session.replaced"})

Reply = tuple[int, str | None]
"""First connection of the session, and response id."""


class StaleAudio(Fold[CheckResult]):
    """Fail for any stale sound, unknown when no reply was ever over."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._ended = 0
        self._turns: Counter[Outcome] = Counter()
        self._samples = 0
        self._findings = Findings()

    def see(self, call: Call) -> None:
        """Follow the call in order: what is over, and what is heard then."""
        self._turns.update(event.outcome for event in call.of(TurnEnded))
        session = 0
        last: Reply | None = None
        over: dict[Reply, ServerEvent] = {}
        session_over: dict[int, ServerEvent] = {}
        stale: dict[Reply, list[AudioReceived]] = {}
        for event in call.talk:
            # The most frequent kind first.
            if isinstance(event, ServerEvent):
                if event.name in ENDS:
                    _end(event, session, last, over)
                elif event.name in SESSION_ENDS:
                    session_over.setdefault(session, event)
            elif isinstance(event, AudioReceived):
                if event.samples > 0:
                    reply = last = (session, event.response_id)
                    if reply in over or session in session_over:
                        stale.setdefault(reply, []).append(event)
            elif isinstance(event, SessionReady) and not event.resumed:
                session = event.connection
        self._ended += len(over)
        for reply, chunks in stale.items():
            self._found(chunks, over.get(reply) or session_over[reply[0]])

    def result(self) -> CheckResult:
        """Unknown when no reply was over."""
        found = self._findings
        if found.count > 0:
            stale_ms = self._samples * 1_000 // OUTPUT_RATE_HZ
            summary = f"{stale_ms} ms of sound came after the end of {found.count} of {self._ended} replies"
            return CheckResult("stale_audio", Verdict.FAIL, summary, found.in_time(), found.more)
        if self._ended == 0:
            return CheckResult("stale_audio", Verdict.UNKNOWN, "no reply ended")
        cut = self._turns[Outcome.CUT]
        return CheckResult(
            "stale_audio", Verdict.PASS, f"silence after each of {self._ended} replies, {cut} of them cut"
        )

    def _found(self, chunks: list[AudioReceived], end: ServerEvent) -> None:
        first, samples = chunks[0], sum(chunk.samples for chunk in chunks)
        self._samples += samples
        after_ms = (chunks[-1].t_ns - end.t_ns) // 1_000_000
        why = f" ({end.detail})" if end.detail else ""
        text = (
            f"{first.call} heard {samples * 1_000 // OUTPUT_RATE_HZ} ms of {first.response_id} "
            f"up to {after_ms} ms after {end.name}{why}"
        )
        self._findings.add(Finding(text, to_s(first.t_ns - self.history.origin_ns), first.call))


def _end(event: ServerEvent, session: int, last: Reply | None, over: dict[Reply, ServerEvent]) -> None:
    """Note that a reply is over: the named one, or the last that was heard."""
    ended = last if event.response_id is None else (session, event.response_id)
    if ended is not None:
        over.setdefault(ended, event)
