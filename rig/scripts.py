"""What one call does, written down before it happens.

A script is data: a caller reads it, a report quotes it, a reproduction replays it. Moments inside a call are given
relative to what the caller observes (speech sent, audio heard), because only these can be replayed on another machine.
"""

import enum

import msgspec

from rig.ids import CallId


class Behaviour(enum.StrEnum):
    """What kind of caller this is."""

    POLITE = "polite"
    BARGE_IN = "barge_in"
    HANG_UP = "hang_up"
    SLOTS = "slots"
    """A polite caller of the probe that follows the load; no behaviour of the load."""


class InterruptBy(enum.StrEnum):
    """How a reply is interrupted: by speaking over it (server VAD) or by response.cancel."""

    SPEECH = "speech"
    CANCEL = "cancel"


class HangUpHow(enum.StrEnum):
    """How the connection ends: TCP reset, half-close (FIN), or a WebSocket close frame."""

    RST = "rst"
    FIN = "fin"
    CLOSE_FRAME = "close_frame"


class HangUpWhen(enum.StrEnum):
    """The moment of the hang-up."""

    BEFORE_CREATED = "before_created"
    WHILE_SPEAKING = "while_speaking"
    AWAITING_REPLY = "awaiting_reply"
    DURING_REPLY = "during_reply"


class Return(enum.StrEnum):
    """How the caller comes back at once."""

    NEW_SESSION = "new_session"
    RESUME = "resume"


class Interrupt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Interrupt the reply once `after_audio_ms` of it were received, by speaking `utterance` or by cancelling."""

    by: InterruptBy
    after_audio_ms: int
    utterance: str | None


class HangUp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Hang up `after_ms` into the moment `when`, then come back.

    `after_ms` counts from: the handshake (before_created), the first speech frame (while_speaking), the last speech
    frame (awaiting_reply), or in milliseconds of audio received (during_reply).
    """

    how: HangUpHow
    when: HangUpWhen
    after_ms: int
    then: Return


class TurnScript(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Wait `pause_ms`, say `utterance`, listen to the reply, unless it is interrupted or the caller hangs up."""

    utterance: str
    pause_ms: int
    interrupt: Interrupt | None = None
    hang_up: HangUp | None = None


OPEN_SLOT = -1
"""The caller of an open-loop call in the plan: whichever slot is free."""


class CallScript(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One call.

    Closed loop: begun by slot `caller`, `pause_ms` after the slot's previous call ended or the load began; not any more
    when that would be later than `latest_ms` after the beginning of the load. Open loop (`start_us` is given): begun so
    long after the beginning of the load by any free slot. `length` names the entry of `lengths` that it was drawn from.
    `late_sound_ms`: so long sound goes on after the `session.close` of the goodbye, unless the server ends it first.
    """

    call: CallId
    caller: int
    index: int
    behaviour: Behaviour
    pause_ms: int
    turns: tuple[TurnScript, ...]
    start_us: int | None = None
    latest_ms: int | None = None
    length: str = ""
    late_sound_ms: int = 0
