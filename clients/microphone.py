"""The microphone of a caller: 100 ms frames at absolute due times, silence whenever nobody speaks.

A real microphone never stops, and the server's voice activity detection needs the silence. Every frame is encoded once
per process, whoever sends it.
"""

from collections import deque
from functools import cache
from typing import Any, NamedTuple

from clients import wire
from clients.transport import encode_text
from rig import speech
from rig.clock import NS_PER_MS

FRAME_MS = 100
FRAME_NS = FRAME_MS * NS_PER_MS
FRAME_BYTES = wire.INPUT_RATE_HZ * wire.SAMPLE_BYTES * FRAME_MS // 1_000
FRAMES_PER_RECORD = 10


@cache
def silence() -> bytes:
    """One frame of silence, ready for the wire."""
    return encode_text(wire.append_audio(bytes(FRAME_BYTES)))


@cache
def spoken(utterance: str) -> tuple[bytes, ...]:
    """The frames of a recording, ready for the wire; the last one is filled up with silence."""
    pcm = speech.pcm(utterance)
    pieces = (pcm[at : at + FRAME_BYTES] for at in range(0, len(pcm), FRAME_BYTES))
    return tuple(encode_text(wire.append_audio(piece.ljust(FRAME_BYTES, b"\0"))) for piece in pieces)


def prepare() -> None:
    """Encode every frame that a caller can send, so that no call pays for it."""
    silence()
    for name in speech.NAMES:
        spoken(name)


class FrameDue(NamedTuple):
    """A frame to send now. `first` and `last` tell whether an utterance begins or ends with it."""

    data: bytes
    due_ns: int
    first: bool
    last: bool


class Microphone:
    """What one connection sends, frame by frame. The first frame is due 100 ms after `start_ns`: so long it records."""

    def __init__(self, start_ns: int) -> None:
        self.due_ns = start_ns + FRAME_NS
        self._speech: deque[bytes] = deque()
        self._speak_from_ns = 0
        self._begun = False
        self._first_planned_ns = self.due_ns
        self._slips_us: list[int] = []

    @property
    def speaking(self) -> bool:
        """Whether an utterance waits or is being spoken."""
        return len(self._speech) > 0

    def say(self, utterance: str, not_before_ns: int) -> None:
        """Speak a recording, beginning with the first frame due at or after `not_before_ns`."""
        self._speech.extend(spoken(utterance))
        self._speak_from_ns = not_before_ns
        self._begun = False

    def next_frame(self) -> FrameDue:
        """The frame that is due at `due_ns`, which moves on to the frame after it."""
        due_ns = self.due_ns
        self.due_ns += FRAME_NS
        if not self._speech or (not self._begun and due_ns < self._speak_from_ns):
            return FrameDue(silence(), due_ns, first=False, last=False)
        first = not self._begun
        self._begun = True
        data = self._speech.popleft()
        return FrameDue(data, due_ns, first, last=not self._speech)

    def sent(self, frame: FrameDue, t_ns: int) -> bool:
        """Note when a frame went out; True when a second of them is full and `take_slips` should be recorded."""
        self._slips_us.append((t_ns - frame.due_ns) // 1_000)
        return len(self._slips_us) >= FRAMES_PER_RECORD

    def take_slips(self) -> dict[str, Any] | None:
        """The fields of a FramesSent event for the frames since the last one, None when there were none."""
        if not self._slips_us:
            return None
        fields = {"first_planned_ns": self._first_planned_ns, "interval_ns": FRAME_NS, "slips_us": self._slips_us}
        self._first_planned_ns += len(self._slips_us) * FRAME_NS
        self._slips_us = []
        return fields
