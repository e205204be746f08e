"""Names of runs, calls and seeds, and how they are made."""

import hashlib
import random
from typing import NewType

RunId = NewType("RunId", str)
CallId = NewType("CallId", str)

VOICE_BITS = 24


def call_id(caller: int, index: int) -> CallId:
    """Name of the `index`-th call of a caller, both counted from 0."""
    return CallId(f"c{caller:03d}-{index:04d}")


def open_call_id(index: int) -> CallId:
    """Name of the `index`-th call of an open-loop plan, counted from 0."""
    return CallId(f"o{index:06d}")


def probe_call_id(number: int, slot: int) -> CallId:
    """Name of the call that probes a session slot in the `number`-th probe, both counted from 0."""
    return CallId(f"s{number:03d}-{slot:04d}")


def rng(seed: int, *purpose: str | int) -> random.Random:
    """One generator per purpose, so that a new use never shifts the numbers of an old one."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return random.Random(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


def voice(seed: int, call: CallId, session: int) -> int:
    """The voice (24 bits, never 0) that marks the audio of the `session`-th session of a call."""
    digest = hashlib.sha256(f"{seed}/voice/{call}/{session}".encode()).digest()
    return int.from_bytes(digest[:4], "big") % ((1 << VOICE_BITS) - 1) + 1
