"""A reply is the same for the same seed, voice and number, and its marks say so."""

import base64

import numpy as np
import pytest

from rig.golden.voice import Plan, make_plan
from rig.marks import MarkReader


def plan(seed: int = 1, voice: int = 7, number: int = 1, stream: int = 3, reply_s: float = 2.0) -> Plan:
    return make_plan(seed, voice, number, stream, reply_s=reply_s, spread=0.3, chunk_ms=400)


def test_its_sound_carries_voice_stream_place_and_token_of_every_frame() -> None:
    reply = plan()
    reader = MarkReader()
    marks = []
    for index in range(reply.chunks):
        pcm = np.frombuffer(base64.b64decode(reply.chunk(index).encode()), "<i2")
        assert len(pcm) == reply.chunk(index).samples
        marks += reader.feed(pcm)
    assert [(mark.voice, mark.stream, mark.index, mark.token) for mark in marks] == [
        (7, 3, index, token) for index, token in enumerate(reply.tokens)
    ]
    assert reader.unreadable_samples == 0


@pytest.mark.parametrize("change", [{"seed": 2}, {"voice": 8}, {"number": 2}])
def test_another_seed_voice_or_number_is_another_reply(change: dict[str, int]) -> None:
    assert plan().tokens.tolist() == plan().tokens.tolist()
    assert plan().tokens.tolist() != plan(**change).tokens.tolist()


def test_lengths_stay_within_the_spread() -> None:
    lengths = [len(plan(number=number).tokens) for number in range(200)]
    assert 35 <= min(lengths) < 40 < 60 < max(lengths) <= 65


def test_the_last_chunk_holds_what_is_left() -> None:
    reply = make_plan(1, 7, 1, 0, reply_s=0.52, spread=0.0, chunk_ms=200)
    assert [reply.chunk(index).duration_ms for index in range(reply.chunks)] == [200, 200, 120]


def test_a_reply_has_at_least_one_token() -> None:
    assert len(make_plan(1, 7, 1, 0, reply_s=0.001, spread=0.0, chunk_ms=40).tokens) == 1
