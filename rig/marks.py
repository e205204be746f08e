"""Marks in sound: whose voice it is, and which token of which reply.

The tiny checkpoint's vocoder writes a mark into every codec-token frame, and every caller writes its voice number into
the reference audio that it sends, as a voice-cloning client sends a voice. So a caller can tell from the sound alone
whether it hears its own voice and whether a frame is missing, doubled or out of order. Plain NumPy; no clock, no I/O.

A frame is 960 samples at 24 kHz (25 tokens a second). It begins with 96 bits of four samples each, high or low:

    sync 16 | voice 24 | stream 8 | index 16 | token 16 | check 16

and goes on with a quiet tone whose pitch is the token's. In reference audio a bit lasts 10 ms, slow enough to survive
resampling: sync 8 | voice 24 | check 8.
"""

import io
import wave
from functools import cache
from itertools import starmap

import msgspec
import numpy as np
import numpy.typing as npt

OUTPUT_RATE_HZ = 24_000
FRAME_SAMPLES = 960
BIT_SAMPLES = 4
AMPLITUDE = 0.1
TONE_AMPLITUDE = 0.03

Pcm = npt.NDArray[np.int16]
Samples = npt.NDArray[np.float32]
Bits = npt.NDArray[np.uint8]

_SYNC = 0xB5E3
_FIELDS = (16, 24, 8, 16, 16, 16)
_BITS = sum(_FIELDS)
_MARK_SAMPLES = _BITS * BIT_SAMPLES
_TONES = 36
_SILENT_BELOW = 0.02

_REFERENCE_SYNC = 0xA7
_REFERENCE_BIT_S = 0.01
_REFERENCE_BITS = 40


class Mark(msgspec.Struct, frozen=True, gc=False):
    """What one frame says: `voice` 24 bits, `stream` the reply (mod 256), `index` the token's place (mod 65536)."""

    voice: int
    stream: int
    index: int
    token: int


def encode_frames(voice: int, stream: int, first_index: int, tokens: npt.NDArray[np.int64]) -> Samples:
    """Sound of consecutive tokens: float32 in [-1, 1], `960 * len(tokens)` samples."""
    count = len(tokens)
    indices = (first_index + np.arange(count)) % (1 << 16)
    fields = [
        np.full(count, _SYNC),
        np.full(count, voice),
        np.full(count, stream % (1 << 8)),
        indices,
        tokens % (1 << 16),
        _check(voice, stream % (1 << 8), indices, tokens % (1 << 16)),
    ]
    bits = np.concatenate(
        [_to_bits(values.astype(np.int64), width) for values, width in zip(fields, _FIELDS, strict=True)], axis=1
    )
    frames = np.empty((count, FRAME_SAMPLES), dtype=np.float32)
    frames[:, :_MARK_SAMPLES] = np.repeat(bits.astype(np.float32) * 2 - 1, BIT_SAMPLES, axis=1) * AMPLITUDE
    frames[:, _MARK_SAMPLES:] = _tones()[tokens % _TONES]
    return frames.reshape(-1)


@cache
def _tones() -> Samples:
    """The rest of a frame behind its mark, for each pitch."""
    pitch_hz = 110 * 2 ** (np.arange(_TONES) / 12)
    time_s = np.arange(FRAME_SAMPLES - _MARK_SAMPLES) / OUTPUT_RATE_HZ
    tones: Samples = (TONE_AMPLITUDE * np.sin(2 * np.pi * pitch_hz[:, None] * time_s)).astype(np.float32)
    return tones


class MarkReader:
    """Reads the marks of one reply, chunk by chunk; chunks may end anywhere in a frame."""

    def __init__(self) -> None:
        self._rest: Pcm = np.empty(0, dtype=np.int16)
        self.unreadable_samples = 0

    def feed(self, pcm: Pcm) -> list[Mark]:
        """Marks of the frames that are whole now; samples that belong to no frame are counted as unreadable."""
        samples = np.concatenate([self._rest, pcm]) if len(self._rest) else pcm
        marks: list[Mark] = []
        position = 0
        while len(samples) - position >= FRAME_SAMPLES:
            found = _read_aligned(samples[position:])
            marks.extend(found)
            position += len(found) * FRAME_SAMPLES
            if len(samples) - position >= FRAME_SAMPLES:
                skipped = _next_sync(samples[position:])
                self.unreadable_samples += skipped
                position += skipped
        self._rest = samples[position:]
        return marks

    def finish(self) -> None:
        """The reply is over: what is left of an unfinished frame is unreadable."""
        self.unreadable_samples += len(self._rest)
        self._rest = self._rest[:0]


def _read_aligned(samples: Pcm) -> list[Mark]:
    """Marks of the run of good frames at the very start of `samples`."""
    count = len(samples) // FRAME_SAMPLES
    frames = samples[: count * FRAME_SAMPLES].reshape(count, FRAME_SAMPLES)
    # The middle of each bit: two samples in, where a resampled edge no longer reaches.
    sync, voice, stream, index, token, check = _fields(frames[:, 2:_MARK_SAMPLES:BIT_SAMPLES] > 0)
    good = (sync == _SYNC) & (check == _check(voice, stream, index, token))
    run = count if good.all() else int(np.argmin(good))
    return list(starmap(Mark, np.stack((voice, stream, index, token), axis=1)[:run].tolist()))


def _fields(bits: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.int64]]:
    """The fields of each frame; all are whole bytes long."""
    octets = np.packbits(bits, axis=1).T.astype(np.int64)
    fields: list[npt.NDArray[np.int64]] = []
    rows = iter(octets)
    for width in _FIELDS:
        value = next(rows)
        for _ in range(1, width // 8):
            value = value << 8 | next(rows)
        fields.append(value)
    return fields


def _next_sync(samples: Pcm) -> int:
    """How many samples to skip until a frame can begin; at least 1."""
    signs = samples > 0
    last = len(samples) - FRAME_SAMPLES
    candidates = np.ones(max(0, last), dtype=bool)
    for bit, wanted in enumerate(_to_bits(np.array([_SYNC]), 16)[0]):
        start = 1 + 2 + bit * BIT_SAMPLES
        candidates &= signs[start : start + len(candidates)] == bool(wanted)
    hits = np.flatnonzero(candidates)
    for hit in hits:
        if _read_aligned(samples[hit + 1 : hit + 1 + FRAME_SAMPLES]):
            return int(hit) + 1
    return max(1, last + 1)


def reference_wav(voice: int, *, sample_rate_hz: int = 16_000, seconds: float = 2.0) -> bytes:
    """A WAV file (mono PCM16) whose sound carries `voice`, for a session's reference audio."""
    word = (_REFERENCE_SYNC << 32) | (voice << 8) | _reference_check(voice)
    bits = _to_bits(np.array([word], dtype=np.int64), _REFERENCE_BITS)[0].astype(np.float32) * 2 - 1
    coded = np.repeat(bits * AMPLITUDE * 2, round(_REFERENCE_BIT_S * sample_rate_hz))
    samples = np.zeros(round(seconds * sample_rate_hz), dtype=np.float32)
    samples[: len(coded)] = coded
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(sample_rate_hz)
        file.writeframes((samples * 32_767).astype("<i2").tobytes())
    return buffer.getvalue()


def voice_of(samples: Samples, sample_rate_hz: int) -> int | None:
    """The voice that reference audio carries, at any sample rate; None when it carries none."""
    width = _REFERENCE_BIT_S * sample_rate_hz
    middles = ((np.arange(_REFERENCE_BITS) + 0.5) * width).astype(np.int64)
    if middles[-1] >= len(samples) or float(np.abs(samples[middles]).min()) < _SILENT_BELOW:
        return None
    bits = (samples[middles] > 0).astype(np.uint8)[None, :]
    word = int(_from_bits(bits)[0])
    sync, voice, check = word >> 32, (word >> 8) & 0xFFFFFF, word & 0xFF
    return voice if sync == _REFERENCE_SYNC and check == _reference_check(voice) else None


def _to_bits(values: npt.NDArray[np.int64], width: int) -> Bits:
    return ((values[:, None] >> np.arange(width - 1, -1, -1)) & 1).astype(np.uint8)


def _from_bits(bits: Bits) -> npt.NDArray[np.int64]:
    width = bits.shape[1]
    return np.asarray(bits.astype(np.int64) @ (1 << np.arange(width - 1, -1, -1, dtype=np.int64)))


def _check(
    voice: int | npt.NDArray[np.int64],
    stream: int | npt.NDArray[np.int64],
    index: npt.NDArray[np.int64],
    token: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Sixteen bits that depend on every field, and not linearly: bits read one place off must not suit each other."""
    mixed = np.asarray(voice, dtype=np.int64) * 40_503 + np.asarray(stream, dtype=np.int64) * 25_717 + index * 31_337
    mixed = (mixed ^ (token * 48_271) ^ (mixed >> 13)) & 0xFFFF_FFFF
    mixed = (mixed + 0x9E37_79B9 ^ mixed >> 15) * 0x5BD1_E995 & 0xFFFF_FFFF
    return np.asarray((mixed ^ (mixed >> 15)) & 0xFFFF)


def _reference_check(voice: int) -> int:
    return ((voice * 40_503) >> 7) & 0xFF
