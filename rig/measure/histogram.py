"""HdrHistogram with 3 significant digits: counts in buckets no wider than 0.1 % of their value, merged without loss.

Kept sparse, because a run has hundreds of them. Values are non-negative integers (microseconds, or millionths of a
ratio) up to a day; larger ones count as a day. `encode` and `decode` speak the standard V2 payload (compressed,
base64), which every HdrHistogram library reads. Source of the layout: https://github.com/HdrHistogram/HdrHistogram.
"""

import base64
import math
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from rig.errors import RigError

DIGITS = 3
HIGHEST = 86_400_000_000
HALF_MAGNITUDE = 10
HALF = 1 << HALF_MAGNITUDE
"""Values below 2 * HALF have a bucket each; above, each doubling of the value is divided into HALF buckets."""

_COOKIE = 0x1C849303 | 0x10
_COMPRESSED_COOKIE = 0x1C849304 | 0x10
_HEADER = struct.Struct(">iiiiqqd")
_OUTER = struct.Struct(">ii")

Integers = npt.NDArray[np.int64]


class Histogram:
    """Counts by bucket. Immutable: adding makes a new one."""

    __slots__ = ("counts", "indices")

    def __init__(self, indices: Integers, counts: Integers) -> None:
        """`indices` ascending, each once; `counts` above 0."""
        self.indices = indices
        self.counts = counts

    @classmethod
    def of(cls, values: Iterable[int]) -> Self:
        """The histogram of these values."""
        indices, counts = np.unique(indices_of(np.fromiter(values, dtype=np.int64)), return_counts=True)
        return cls(indices, counts.astype(np.int64))

    @property
    def n(self) -> int:
        """How many values."""
        return int(self.counts.sum())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return np.array_equal(self.indices, other.indices) and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: "Histogram") -> "Histogram":
        return Histogram(*merged((self.indices, self.counts), (other.indices, other.counts)))

    def mean(self) -> float | None:
        """Mean, each value standing for the middle of its bucket."""
        return float(np.average(self._middles(), weights=self.counts)) if self.n > 0 else None

    def std(self) -> float | None:
        """Standard deviation of the population, as upstream's `np.std`."""
        if self.n == 0:
            return None
        middles = self._middles()
        mean = np.average(middles, weights=self.counts)
        return math.sqrt(float(np.average((middles - mean) ** 2, weights=self.counts)))

    def min(self) -> int | None:
        """The low edge of the lowest bucket."""
        return int(lowest_of(self.indices[:1])[0]) if self.n > 0 else None

    def max(self) -> int | None:
        """The high edge of the highest bucket."""
        return self._high_edge(len(self.indices) - 1) if self.n > 0 else None

    def percentile(self, percent: float) -> int | None:
        """Nearest rank: the high edge of the bucket in which that value lies."""
        if self.n == 0:
            return None
        rank = max(1, math.ceil(self.n * percent / 100))
        return self._high_edge(int(np.searchsorted(np.cumsum(self.counts), rank)))

    def up_to(self, edges: Sequence[float]) -> list[int]:
        """For each edge how many values are at most that large, each value standing for the low edge of its bucket."""
        counts = np.concatenate(([0], np.cumsum(self.counts)))
        found: list[int] = counts[np.searchsorted(lowest_of(self.indices), edges, side="right")].tolist()
        return found

    def encode(self) -> str:
        """The V2 payload, compressed, base64."""
        body = b"".join(_zigzag(word) for word in self._words())
        head = _HEADER.pack(_COOKIE, len(body), 0, DIGITS, 1, HIGHEST, 1.0)
        packed = zlib.compress(head + body)
        return base64.b64encode(_OUTER.pack(_COMPRESSED_COOKIE, len(packed)) + packed).decode("ascii")

    @classmethod
    def decode(cls, payload: str) -> Self:
        """Read a payload. Raises RigError for one that is damaged or has another range or precision."""
        try:
            raw = base64.b64decode(payload, validate=True)
            cookie, length = _OUTER.unpack_from(raw)
            inner = zlib.decompress(raw[_OUTER.size : _OUTER.size + length])
            head = _HEADER.unpack_from(inner)
        except (ValueError, struct.error, zlib.error) as error:
            raise RigError(f"not a histogram: {error}") from error
        if cookie != _COMPRESSED_COOKIE or (head[0], *head[2:6]) != (_COOKIE, 0, DIGITS, 1, HIGHEST):
            raise RigError(f"a histogram of another kind: {head}")
        indices: list[int] = []
        counts: list[int] = []
        index = 0
        for word in _words_of(inner[_HEADER.size : _HEADER.size + head[1]]):
            if word < 0:
                index -= word
                continue
            indices.append(index)
            counts.append(word)
            index += 1
        return cls(np.array(indices, dtype=np.int64), np.array(counts, dtype=np.int64))

    def _high_edge(self, place: int) -> int:
        one = self.indices[place : place + 1]
        return int((lowest_of(one) + width_of(one))[0]) - 1

    def _middles(self) -> Integers:
        return lowest_of(self.indices) + (width_of(self.indices) >> 1)

    def _words(self) -> Iterator[int]:
        """Counts in the order of buckets; a run of empty ones is one negative number."""
        following = 0
        for index, count in zip(self.indices.tolist(), self.counts.tolist(), strict=True):
            if index > following:
                yield following - index
            yield count
            following = index + 1


def merged(first: tuple[Integers, Integers], second: tuple[Integers, Integers]) -> tuple[Integers, Integers]:
    """Two tables of ascending keys with counts as one."""
    keys, places = np.unique(np.concatenate((first[0], second[0])), return_inverse=True)
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(counts, places, np.concatenate((first[1], second[1])))
    return keys, counts


def indices_of(values: Integers) -> Integers:
    """The bucket of each value."""
    clipped = np.clip(values, 0, HIGHEST)
    bits = np.frexp(clipped.astype(np.float64))[1].astype(np.int64)
    bucket = np.maximum(bits - (HALF_MAGNITUDE + 1), 0)
    indices: Integers = (bucket << HALF_MAGNITUDE) + (clipped >> bucket)
    return indices


def lowest_of(indices: Integers) -> Integers:
    """The lowest value of each bucket."""
    bucket = np.maximum((indices >> HALF_MAGNITUDE) - 1, 0)
    lowest: Integers = (indices - (bucket << HALF_MAGNITUDE)) << bucket
    return lowest


def width_of(indices: Integers) -> Integers:
    """How many values share each bucket."""
    width: Integers = np.left_shift(1, np.maximum((indices >> HALF_MAGNITUDE) - 1, 0))
    return width


def _zigzag(word: int) -> bytes:
    """A signed number as ZigZag LEB128; the ninth byte, if there is one, holds eight bits."""
    left = (word << 1) ^ (word >> 63)
    out = bytearray()
    while left >= 0x80 and len(out) < 8:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def _words_of(body: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in body:
        last = shift == 56 or byte < 0x80
        value |= (byte if last else byte & 0x7F) << shift
        shift += 7
        if last:
            yield (value >> 1) ^ -(value & 1)
            value = shift = 0
