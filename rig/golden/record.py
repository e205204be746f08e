"""The golden server's own record: what it truly did and when, one JSON line an event, each written as it happens.

Times are nanoseconds on the host's monotonic clock, as in the rig's journals. The stamp of something sent is taken
right before the bytes are handed to the socket. `sent` is False for what was only kept for a resume; when the resume
comes, the same event stands here again, `replayed`.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rig.clock import monotonic_ns
from rig.errors import JournalError


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    """Base of all lines."""

    t_ns: int


class Started(Line, frozen=True, tag="started"):
    """The server listens."""

    pid: int
    seed: int
    faults: list[str]


class SessionOpened(Line, frozen=True, tag="session_opened"):
    """session.created was sent; the session holds a slot."""

    session: str
    voice: int


class SessionRefused(Line, frozen=True, tag="session_refused"):
    """No session came to be."""

    code: str
    slots_held: int


class SessionDetached(Line, frozen=True, tag="session_detached"):
    """Its connection is gone; the grace begins."""

    session: str


class SessionResumed(Line, frozen=True, tag="session_resumed"):
    """session.resumed was sent, and `replayed` events after it."""

    session: str
    generation: int
    replayed: int


class SpeechStarted(Line, frozen=True, tag="speech_started"):
    """Speech began, `audio_ms` into the session's sound less the prefix; `heard_ns`: when its first sound came in."""

    session: str
    audio_ms: int
    heard_ns: int


class SpeechEnded(Line, frozen=True, tag="speech_ended"):
    """The end of speech was seen; it lay `audio_ms` into the session's sound, which came in at `heard_ns`."""

    session: str
    turn: int
    audio_ms: int
    heard_ns: int


class ReplyCreated(Line, frozen=True, tag="reply_created"):
    """response.created."""

    session: str
    response: str
    turn: int
    sent: bool
    replayed: bool


class ChunkSent(Line, frozen=True, tag="chunk_sent"):
    """One chunk of a reply; `first_token` and `tokens` say which sound. Index 0 is the first audio.

    `planned_ns` is None for sound that no reply has planned: a fault made it.
    """

    session: str
    response: str
    turn: int
    index: int
    planned_ns: int | None
    sent: bool
    replayed: bool
    voice: int
    stream: int
    first_token: int
    tokens: int
    samples: int


class StopSeen(Line, frozen=True, tag="stop_seen"):
    """The reply was told to stop: by response.cancel (`cancel`) or by speech (`speech`)."""

    session: str
    response: str
    by: str


class ReplyEnded(Line, frozen=True, tag="reply_ended"):
    """The terminal event; `last_audio_ns` is when the newest chunk went, None when none did."""

    session: str
    response: str
    planned_ns: int
    sent: bool
    replayed: bool
    status: str
    reason: str
    last_audio_ns: int | None


class SlotFreed(Line, frozen=True, tag="slot_freed"):
    """A slot can be taken again."""

    session: str
    why: str


class FaultFired(Line, frozen=True, tag="fault_fired"):
    """A fault did what it is for."""

    fault: str
    session: str


AnyLine = (
    Started
    | SessionOpened
    | SessionRefused
    | SessionDetached
    | SessionResumed
    | SpeechStarted
    | SpeechEnded
    | ReplyCreated
    | ChunkSent
    | StopSeen
    | ReplyEnded
    | SlotFreed
    | FaultFired
)

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(AnyLine).decode


class Record:
    """The writing end; without a path it writes nothing."""

    def __init__(self, path: Path | None) -> None:
        """Raises JournalError when the file exists already or cannot be made."""
        self._fd = -1
        if path is None:
            return
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise JournalError(f"cannot create {path}: {error.strerror}") from error

    def write(self, kind: type[Line], *, t_ns: int | None = None, **fields: object) -> None:
        """Append one line, stamped now unless told otherwise. Raises OSError on a full disk: no truth with holes."""
        if self._fd >= 0:
            line = kind(t_ns=monotonic_ns() if t_ns is None else t_ns, **fields)
            os.write(self._fd, _encode(line) + b"\n")


def read(path: Path) -> Iterator[AnyLine]:
    """The whole lines of a record; a torn last line, of a server that was killed, is left out."""
    for line in path.read_bytes().split(b"\n")[:-1]:
        yield _decode(line)
