"""Voice activity from energy: exact places, whatever the size of the pieces."""

import numpy as np
import pytest

from rig import speech
from rig.golden.vad import LOUD_RMS, Detector, Edge


def begin(audio_ms: int) -> Edge:
    return Edge(started=True, audio_ms=audio_ms)


def end(audio_ms: int) -> Edge:
    return Edge(started=False, audio_ms=audio_ms)


def tone(milliseconds: int, rms: float = 3_000.0) -> bytes:
    """A tone that fills every window evenly: 200 Hz, two periods a window."""
    time_s = np.arange(16 * milliseconds) / 16_000
    return (rms * 2**0.5 * np.sin(2 * np.pi * 200 * time_s)).astype("<i2").tobytes()


def silence(milliseconds: int) -> bytes:
    return bytes(32 * milliseconds)


def edges(sound: bytes, piece_ms: int = 100) -> list[Edge]:
    detector = Detector(speech_ms=96, silence_ms=500)
    step = 32 * piece_ms
    return [edge for at in range(0, len(sound), step) for edge in detector.feed(sound[at : at + step])]


def test_speech_begins_less_the_prefix_and_ends_with_its_last_sound() -> None:
    assert edges(silence(1_000) + tone(400) + silence(600)) == [begin(700), end(1_400)]


@pytest.mark.parametrize("piece_ms", [1, 7, 10, 33, 100, 5_000])
def test_the_size_of_the_pieces_changes_nothing(piece_ms: int) -> None:
    sound = silence(230) + tone(400) + silence(700) + tone(200) + silence(501)
    assert edges(sound, piece_ms) == edges(sound)
    assert len(edges(sound)) == 4


def test_a_sound_shorter_than_speech_is_none() -> None:
    assert edges(silence(500) + tone(90) + silence(1_000)) == []


def test_clicks_far_apart_do_not_add_up_to_speech() -> None:
    assert edges((tone(50) + silence(100)) * 10) == []


def test_a_pause_within_an_utterance_does_not_end_it() -> None:
    sound = tone(300) + silence(490) + tone(300) + silence(500)
    assert edges(sound) == [begin(0), end(1_090)]


def test_what_is_below_the_threshold_is_silence() -> None:
    assert edges(tone(500, rms=LOUD_RMS * 0.9)) == []
    assert len(edges(tone(500, rms=LOUD_RMS * 1.1))) == 1


@pytest.mark.parametrize("name", speech.NAMES)
def test_every_recording_is_one_utterance(name: str) -> None:
    found = edges(silence(300) + speech.pcm(name) + silence(1_000))
    assert [edge.started for edge in found] == [True, False]
    assert abs(found[1].audio_ms - 300 - speech.duration_ms(name)) <= 200


def test_a_reset_forgets_speech_that_has_begun() -> None:
    detector = Detector(speech_ms=96, silence_ms=500)
    assert detector.feed(tone(200))[0].started
    detector.reset()
    assert detector.feed(silence(1_000)) == []
    assert detector.heard_ms == 1_200
