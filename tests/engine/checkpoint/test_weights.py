"""The weights hold a conversation: here, what the Talker's head makes of its own embeddings."""

import numpy as np
import numpy.typing as npt
import pytest

from rig.engine.checkpoint import config
from rig.engine.checkpoint.weights import CODEC_END_ODDS, Array, weights

AUDIO_BOS = 151_687
"""The text token that vLLM-Omni puts last before the Talker's first codec token."""


@pytest.fixture(scope="module")
def tensors() -> dict[str, Array]:
    return weights(seed=0, reply_s=3.0)


def end_odds(tensors: dict[str, Array], last_input: Array) -> float:
    """Odds of the Talker's end token after `last_input`; its layers add next to nothing, so they are left out."""
    hidden: npt.NDArray[np.float64] = last_input.astype(np.float64)
    hidden /= np.sqrt(np.mean(hidden**2))
    direction = tensors["tts.head_code.0.parametrizations.weight.original1"].astype(np.float64)
    length = tensors["tts.head_code.0.parametrizations.weight.original0"].astype(np.float64)
    logits = (length * direction / np.linalg.norm(direction, axis=1, keepdims=True)) @ hidden
    exponentials = np.exp(logits - logits.max())
    return float(exponentials[config.CODEC_EOS] / exponentials.sum())


@pytest.mark.parametrize("text", [AUDIO_BOS, 0])
def test_the_talker_never_ends_before_its_first_codec_token(tensors: dict[str, Array], text: int) -> None:
    assert end_odds(tensors, tensors["tts.emb_text.weight"][text]) < 1e-9


@pytest.mark.parametrize("code", [0, 1_000, config.CODEC_EOS - 1])
def test_after_each_codec_token_the_talker_may_end(tensors: dict[str, Array], code: int) -> None:
    assert end_odds(tensors, tensors["tts.emb_code.0.weight"][code]) == pytest.approx(CODEC_END_ODDS, rel=0.1)
