"""Turns of a call, and the one rule that says which turn a response belongs to.

Turns are numbered by what the caller says: the speech that interrupts a reply is a turn of its own.

The rule, applied once, when a response is first seen:
1. It belongs to the newest turn of this session whose speech the server had reported as ended
   (`speech_stopped`; its place in the session's audio tells which speech is meant). While the server has
   reported no end of speech in this session, the newest turn that was spoken to its end counts instead.
2. Unless that turn is over, or another response is answering it: then nobody asked for the response, and it
   belongs to no turn (NO_TURN). A model may speak on its own, or answer twice.

A turn is over with the terminal event of a response that had sound. A response that ends without any (the model
listened on, or the server took half a sentence for a whole one) leaves the turn open.
"""

from dataclasses import dataclass

from clients.wire import OUTPUT_RATE_HZ
from rig.events.types import Outcome

NO_TURN = -1
"""The turn of whatever nobody asked for."""


@dataclass
class Turn:
    """One turn as far as it has come. `offset_ms` is the audio sent in its session before its first frame."""

    index: int
    utterance: str
    session_index: int
    offset_ms: int = 0
    started_ns: int | None = None
    spoken_ns: int | None = None
    heard: bool = False
    interrupted: bool = False
    response_id: str | None = None
    first_audio_ns: int | None = None
    samples: int = 0
    outcome: Outcome | None = None

    @property
    def over(self) -> bool:
        """Whether its outcome is known."""
        return self.outcome is not None

    @property
    def audio_ms(self) -> int:
        """How much of the answer has been received."""
        return self.samples * 1_000 // OUTPUT_RATE_HZ


class Turns:
    """All turns of one call, over all its sessions."""

    def __init__(self) -> None:
        self.all: list[Turn] = []

    @property
    def last_index(self) -> int:
        """Index of the newest turn that was begun aloud, NO_TURN before the first."""
        return next((turn.index for turn in reversed(self.all) if turn.started_ns is not None), NO_TURN)

    def begin(self, utterance: str, session_index: int) -> Turn:
        """A new turn, not yet spoken."""
        turn = Turn(len(self.all), utterance, session_index)
        self.all.append(turn)
        return turn

    def open(self) -> list[Turn]:
        """Turns that were begun aloud and are not over."""
        return [turn for turn in self.all if turn.started_ns is not None and not turn.over]

    def speech_stopped(self, session_index: int, audio_end_ms: int | None) -> None:
        """The server heard the end of the newest speech that began before `audio_end_ms` of the session's audio."""
        for turn in reversed(self.all):
            begun = turn.session_index == session_index and turn.started_ns is not None
            if begun and (audio_end_ms is None or turn.offset_ms < audio_end_ms):
                turn.heard = True
                return

    def answered_by_next(self, session_index: int) -> Turn | None:
        """The turn that a response seen now belongs to, None for no turn."""
        mine = [turn for turn in reversed(self.all) if turn.session_index == session_index]
        heard = next((turn for turn in mine if turn.heard), None)
        turn = heard or next((turn for turn in mine if turn.spoken_ns is not None), None)
        if turn is None or turn.over or turn.response_id is not None:
            return None
        return turn

    def ended(self, turn: Turn, status: str) -> Outcome | None:
        """The response that answered a turn ended with `status`; the turn's outcome, None while it stays open."""
        if turn.samples == 0:
            turn.response_id = None
            return None
        outcomes = {"completed": Outcome.DONE, "cancelled": Outcome.CUT}
        turn.outcome = outcomes.get(status, Outcome.NO_END)
        return turn.outcome
