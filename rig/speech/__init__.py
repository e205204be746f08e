"""What the callers say: short recordings, 16 kHz mono PCM16, made by scripts/make_speech.sh."""

import wave
from functools import cache
from importlib import resources

SAMPLE_RATE_HZ = 16_000
SAMPLE_BYTES = 2

NAMES: tuple[str, ...] = ("correction", "numbers", "recipe", "short", "stop", "story", "train", "weather")
"""All recordings, in the order in which a plan counts them; append, never reorder."""


@cache
def pcm(name: str) -> bytes:
    """The samples of a recording. Raises KeyError for a name that is not in NAMES."""
    if name not in NAMES:
        raise KeyError(name)
    with resources.files(__name__).joinpath(f"{name}.wav").open("rb") as file, wave.open(file) as recording:
        return bytes(recording.readframes(recording.getnframes()))


def duration_ms(name: str) -> int:
    """Length of a recording in whole milliseconds."""
    return len(pcm(name)) * 1_000 // (SAMPLE_BYTES * SAMPLE_RATE_HZ)
