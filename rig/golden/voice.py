"""What the golden server says: marked sound, the same for the same seed, voice and number of the reply. No clock."""

import binascii
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rig import ids
from rig.marks import encode_frames

TOKEN_MS = 40
SAMPLES_PER_TOKEN = 960
CODEBOOK = 6_561
"""Codec tokens of MiniCPM-o's speech tokenizer."""


@dataclass(frozen=True)
class Plan:
    """One reply before it is spoken: its mark stream and its tokens, in chunks of `per_chunk`."""

    voice: int
    stream: int
    tokens: npt.NDArray[np.int64]
    per_chunk: int

    @property
    def chunks(self) -> int:
        """How many chunks it has."""
        return -(-len(self.tokens) // self.per_chunk)

    def chunk(self, index: int) -> "Chunk":
        """One chunk, not yet encoded."""
        first = index * self.per_chunk
        return Chunk(self.voice, self.stream, first, self.tokens[first : first + self.per_chunk])


@dataclass(frozen=True)
class Chunk:
    """Consecutive tokens of one reply, from `first` on."""

    voice: int
    stream: int
    first: int
    tokens: npt.NDArray[np.int64]

    @property
    def samples(self) -> int:
        """Samples at 24 kHz."""
        return len(self.tokens) * SAMPLES_PER_TOKEN

    @property
    def duration_ms(self) -> int:
        """Length of its sound."""
        return len(self.tokens) * TOKEN_MS

    def encode(self) -> str:
        """Base64 of its PCM16."""
        sound = encode_frames(self.voice, self.stream, self.first, self.tokens)
        return binascii.b2a_base64((sound * 32_767).astype("<i2").tobytes(), newline=False).decode("ascii")


def make_plan(seed: int, voice: int, number: int, stream: int, *, reply_s: float, spread: float, chunk_ms: int) -> Plan:
    """The reply number `number` of a voice: `reply_s` long on average, evenly up to `spread` of it off."""
    draw = ids.rng(seed, "reply", voice, number)
    count = max(1, round(reply_s * draw.uniform(1 - spread, 1 + spread) * 1_000 / TOKEN_MS))
    # 4 bytes a token: a reply of ten minutes is drawn in a blink, and the same one on every Python.
    tokens = np.frombuffer(draw.randbytes(4 * count), dtype="<u4").astype(np.int64) % CODEBOOK
    return Plan(voice, stream, tokens, chunk_ms // TOKEN_MS)
