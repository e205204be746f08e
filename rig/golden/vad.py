"""Voice activity from energy alone: the same sound gives the same times, whoever computes them. No clock, no I/O."""

from dataclasses import dataclass

import numpy as np

from rig.speech import SAMPLE_RATE_HZ

WINDOW_MS = 10
WINDOW_SAMPLES = SAMPLE_RATE_HZ * WINDOW_MS // 1_000
LOUD_RMS = 100.0
"""Root mean square of PCM16 from which a window is sound: -50 dB; silence of the callers is exactly 0."""

GAP_MS = 100
"""Quiet so long within the first sound means that it was no speech."""

PREFIX_MS = 300
"""`audio_start_ms` lies so much before the sound, as upstream's prefix padding does."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Speech began or ended: its place in the session's sound, milliseconds from its first sample."""

    started: bool
    audio_ms: int


class Detector:
    """Feeds on the sound of one session."""

    def __init__(self, speech_ms: int, silence_ms: int) -> None:
        self.speaking = False
        self._speech_ms = speech_ms
        self._silence_ms = silence_ms
        self._rest = b""
        self._now_ms = 0
        self._voiced_ms = 0
        self._quiet_ms = 0
        self._first_ms = 0

    @property
    def heard_ms(self) -> int:
        """Sound taken in so far."""
        return self._now_ms

    @property
    def first_ms(self) -> int:
        """Where the first sound of the newest speech lies."""
        return self._first_ms

    @property
    def earliest_ms(self) -> int:
        """The earliest place that a coming edge can name: the end of the last sound, or the beginning of the newest."""
        if self.speaking:
            return self._now_ms - self._quiet_ms
        return self._first_ms if self._voiced_ms > 0 else self._now_ms

    def feed(self, pcm: bytes) -> list[Edge]:
        """Edges completed by a piece of any length."""
        data = self._rest + pcm
        count = len(data) // (2 * WINDOW_SAMPLES)
        self._rest = data[count * 2 * WINDOW_SAMPLES :]
        if count == 0:
            return []
        if not self.speaking and self._voiced_ms == 0 and data == bytes(len(data)):
            # Nothing but silence, and nothing that it could end: most of what a caller sends.
            self._now_ms += count * WINDOW_MS
            self._quiet_ms += count * WINDOW_MS
            return []
        samples = np.frombuffer(data, dtype="<i2", count=count * WINDOW_SAMPLES).astype(np.float32)
        power = np.square(samples).reshape(count, WINDOW_SAMPLES).mean(axis=1)
        edges = [self._window(loud) for loud in (power >= LOUD_RMS**2).tolist()]
        return [edge for edge in edges if edge is not None]

    def reset(self) -> None:
        """Forget an utterance that has begun."""
        self.speaking = False
        self._voiced_ms = self._quiet_ms = 0

    def _window(self, loud: bool) -> Edge | None:
        begin_ms = self._now_ms
        self._now_ms += WINDOW_MS
        self._quiet_ms = 0 if loud else self._quiet_ms + WINDOW_MS
        if self.speaking:
            if self._quiet_ms < self._silence_ms:
                return None
            end_ms = self._now_ms - self._quiet_ms
            self.reset()
            return Edge(started=False, audio_ms=end_ms)
        if not loud:
            if self._quiet_ms >= GAP_MS:
                self._voiced_ms = 0
            return None
        if self._voiced_ms == 0:
            self._first_ms = begin_ms
        self._voiced_ms += WINDOW_MS
        if self._voiced_ms < self._speech_ms:
            return None
        self.speaking = True
        return Edge(started=True, audio_ms=max(0, self._first_ms - PREFIX_MS))
