"""The recordings: small, named, and speech to the detector that the server uses."""

import wave
from importlib import resources
from importlib.util import find_spec

import pytest

from rig import speech

LIMIT_BYTES = 700_000


def test_every_recording_is_in_the_catalogue_and_every_name_has_one() -> None:
    files = {path.name for path in resources.files(speech).iterdir() if path.name.endswith(".wav")}
    assert files == {f"{name}.wav" for name in speech.NAMES}


@pytest.mark.parametrize("name", speech.NAMES)
def test_is_16_khz_mono_pcm16_of_one_to_three_seconds(name: str) -> None:
    with resources.files(speech).joinpath(f"{name}.wav").open("rb") as file, wave.open(file) as recording:
        assert (recording.getframerate(), recording.getnchannels(), recording.getsampwidth()) == (16_000, 1, 2)
    assert 1_000 <= speech.duration_ms(name) <= 3_000
    assert len(speech.pcm(name)) == pytest.approx(speech.duration_ms(name) * 32, abs=32)


def test_all_of_it_is_small() -> None:
    assert sum(len(speech.pcm(name)) for name in speech.NAMES) < LIMIT_BYTES


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(KeyError):
        speech.pcm("nobody")


@pytest.mark.skipif(find_spec("silero_vad") is None, reason="silero-vad comes with the engine extra")
@pytest.mark.filterwarnings("ignore")  # of torch and onnxruntime, on import
@pytest.mark.parametrize("name", speech.NAMES)
def test_silero_hears_one_utterance_from_beginning_to_end(name: str) -> None:
    import numpy as np
    import torch
    from silero_vad import get_speech_timestamps, load_silero_vad  # type: ignore[import-untyped]

    spoken = np.frombuffer(speech.pcm(name), dtype="<i2").astype(np.float32) / 32_768
    around = np.zeros(16_000, dtype=np.float32)
    samples = torch.from_numpy(np.concatenate([around, spoken, around]))
    # The server ends a turn after 500 ms of silence: a pause as long would split the sentence.
    found = get_speech_timestamps(
        samples, load_silero_vad(onnx=True), sampling_rate=16_000, min_silence_duration_ms=500
    )
    assert len(found) == 1
    assert found[0]["start"] == pytest.approx(16_000, abs=3_200)
    assert found[0]["end"] == pytest.approx(16_000 + len(spoken), abs=3_200)
