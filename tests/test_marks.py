"""Marks in sound survive what a server does to sound, and tell what was lost."""

import io
import wave

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rig.marks import FRAME_SAMPLES, Mark, MarkReader, Pcm, encode_frames, reference_wav, voice_of

TOKENS = np.arange(100, 112, dtype=np.int64)


def as_pcm16(samples: npt.NDArray[np.float32]) -> Pcm:
    """The conversion that the server does before it sends audio."""
    return (np.clip(samples, -1.0, 1.0) * 32_767).astype(np.int16)


def sound(voice: int = 7, stream: int = 3, first_index: int = 0, tokens: npt.NDArray[np.int64] = TOKENS) -> Pcm:
    return as_pcm16(encode_frames(voice, stream, first_index, tokens))


def expected(voice: int = 7, stream: int = 3, first_index: int = 0) -> list[Mark]:
    return [Mark(voice, stream, first_index + place, int(token)) for place, token in enumerate(TOKENS)]


def read(*chunks: Pcm) -> tuple[list[Mark], int]:
    reader = MarkReader()
    marks = [mark for chunk in chunks for mark in reader.feed(chunk)]
    reader.finish()
    return marks, reader.unreadable_samples


def test_a_frame_lasts_a_twenty_fifth_of_a_second() -> None:
    assert len(sound()) == len(TOKENS) * FRAME_SAMPLES == len(TOKENS) * 24_000 // 25


def test_marks_are_read_back_after_conversion_to_pcm16() -> None:
    assert read(sound()) == (expected(), 0)


@given(cuts=st.lists(st.integers(0, len(TOKENS) * FRAME_SAMPLES), max_size=12))
def test_chunks_may_end_anywhere(cuts: list[int]) -> None:
    assert read(*np.split(sound(), sorted(cuts))) == (expected(), 0)


@given(
    voice=st.integers(0, 2**24 - 1),
    stream=st.integers(0, 255),
    index=st.integers(0, 2**16 - 1),
    token=st.integers(0, 6_561),
)
def test_every_field_survives(voice: int, stream: int, index: int, token: int) -> None:
    marks, unreadable = read(sound(voice, stream, index, np.array([token])))
    assert marks == [Mark(voice, stream, index, token)]
    assert unreadable == 0


def test_stream_and_index_wrap() -> None:
    marks, _ = read(sound(stream=256 + 5, first_index=65_535, tokens=np.array([1, 2])))
    assert [(mark.stream, mark.index) for mark in marks] == [(5, 65_535), (5, 0)]


@given(start=st.integers(0, 5 * FRAME_SAMPLES), length=st.integers(1, 3 * FRAME_SAMPLES))
@example(start=63, length=2)  # the rest of the mark is read one bit off
def test_lost_samples_cost_the_frames_they_touch_and_at_most_one_more(start: int, length: int) -> None:
    whole = sound()
    marks, unreadable = read(np.delete(whole, slice(start, start + length)))
    first_hit, last_hit = start // FRAME_SAMPLES, (start + length - 1) // FRAME_SAMPLES
    untouched = [mark for mark in expected() if not first_hit <= mark.index <= last_hit]
    assert marks == [mark for mark in expected() if mark in marks]
    assert len([mark for mark in untouched if mark not in marks]) <= 1
    assert unreadable == len(whole) - length - len(marks) * FRAME_SAMPLES


def test_a_missing_frame_shows_as_a_gap_and_a_doubled_one_as_a_repeat() -> None:
    frames = sound().reshape(-1, FRAME_SAMPLES)
    marks, unreadable = read(np.concatenate([frames[:3], frames[4:6], frames[5:]]).reshape(-1))
    assert [mark.index for mark in marks] == [0, 1, 2, 4, 5, 5, 6, 7, 8, 9, 10, 11]
    assert unreadable == 0


def test_two_callers_are_told_apart() -> None:
    marks, _ = read(sound(voice=1), sound(voice=2))
    assert [mark.voice for mark in marks] == [1] * len(TOKENS) + [2] * len(TOKENS)


@pytest.mark.parametrize("amplitude", [0, 300])
def test_sound_without_marks_is_unreadable(amplitude: int) -> None:
    noise = np.random.default_rng(1).integers(-amplitude, amplitude + 1, 24_000).astype(np.int16)
    assert read(noise) == ([], 24_000)


def test_an_unfinished_frame_is_unreadable_only_when_the_reply_is_over() -> None:
    reader = MarkReader()
    assert len(reader.feed(sound()[:-10])) == len(TOKENS) - 1
    assert reader.unreadable_samples == 0
    reader.finish()
    assert reader.unreadable_samples == FRAME_SAMPLES - 10


def samples_of(wav: bytes) -> tuple[npt.NDArray[np.float32], int]:
    with wave.open(io.BytesIO(wav)) as file:
        raw = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
        return raw.astype(np.float32) / np.float32(32_768), file.getframerate()


@given(voice=st.integers(0, 2**24 - 1))
def test_reference_audio_carries_the_voice(voice: int) -> None:
    assert voice_of(*samples_of(reference_wav(voice))) == voice


@pytest.mark.parametrize("rate_hz", [8_000, 24_000, 44_100])
def test_reference_audio_survives_resampling(rate_hz: int) -> None:
    samples, original_hz = samples_of(reference_wav(123_456))
    at = np.arange(len(samples) * rate_hz // original_hz) * original_hz / rate_hz
    resampled = np.interp(at, np.arange(len(samples)), samples).astype(np.float32)
    assert voice_of(resampled, rate_hz) == 123_456


def test_reference_audio_may_be_repeated_or_cut_after_its_mark() -> None:
    samples, rate_hz = samples_of(reference_wav(99))
    assert voice_of(np.tile(samples, 4), rate_hz) == 99
    assert voice_of(samples[: rate_hz // 2], rate_hz) == 99


def test_audio_without_a_voice_has_none() -> None:
    assert voice_of(np.zeros(32_000, dtype=np.float32), 16_000) is None
    assert voice_of(np.full(10, 0.2, dtype=np.float32), 16_000) is None
    assert voice_of(np.full(32_000, 0.2, dtype=np.float32), 16_000) is None


@pytest.mark.parametrize("length", range(1, 5))
def test_a_few_samples_lost_anywhere_in_a_mark_never_make_another_mark(length: int) -> None:
    whole = sound()
    for start in range(3, 400, 4):
        marks, _ = read(np.delete(whole, slice(start, start + length)))
        assert [mark for mark in marks if mark not in expected()] == []
