"""A light vocoder behind vLLM-Omni's real Code2Wav stage, for the tiny checkpoint only.

The stage keeps its class, its per-request state machine, its prompts and its batching; only the network that turns
codec tokens into sound is replaced. Like the real one it looks three tokens ahead: a chunk that is not the last of its
reply gives no sound for its last three tokens, because the next chunk brings them again as left context.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile
import torch
from torch import nn
from vllm_omni.model_executor.models.minicpmo_4_5.batched_token2wav import BatchedToken2WavState, PromptFeatures
from vllm_omni.model_executor.models.minicpmo_4_5.minicpmo_4_5_code2wav import MiniCPMO45Code2Wav

from rig.engine.checkpoint.config import MARKER
from rig.marks import encode_frames, voice_of

if TYPE_CHECKING:
    from vllm.config import ModelConfig

ARCHITECTURE = "MiniCPMO45Code2Wav"
LOOKAHEAD = 3
PLACE = "place"
"""Key of the state's one tensor: voice, number of the reply among this process's, index of the next token."""


class MarkingVocoder(nn.Module):
    """Same interface as vLLM-Omni's BatchedToken2Wav, on which it is modelled method by method."""

    def __init__(self) -> None:
        super().__init__()
        self._voices: dict[str, int] = {}
        self._streams = 0

    def prepare_prompt(self, cache_id: str, wav: str) -> PromptFeatures:
        """Read the voice out of the reference audio; audio without one is voice 0."""
        if wav not in self._voices:
            samples, rate = soundfile.read(Path(wav), dtype="float32")
            self._voices[wav] = voice_of(samples, rate) or 0
        voice = torch.tensor([[self._voices[wav]]], dtype=torch.long)
        return PromptFeatures(
            cache_key=(cache_id, wav),
            speech_tokens=voice,
            speaker_embedding=torch.zeros(1, 1),
            mels=torch.zeros(1, 1, 1),
        )

    def evict_prompt(self, cache_id: str, wav: str) -> None:
        """Forget a reference."""
        self._voices.pop(wav, None)

    def setup_batch(self, features: PromptFeatures, count: int) -> list[BatchedToken2WavState]:
        """Begin `count` replies in the voice of `features`."""
        voice = int(features.speech_tokens[0, 0])
        states = [_state(voice, self._streams + offset, 0) for offset in range(count)]
        self._streams += count
        return states

    def decode_batch(
        self,
        tokens: torch.Tensor,
        features: PromptFeatures,
        states: list[BatchedToken2WavState],
        *,
        last_chunk: bool,
        flush_encoder: bool = False,
    ) -> tuple[list[torch.Tensor], list[BatchedToken2WavState]]:
        """Sound of equally long chunks; `tokens` is (replies, codec tokens)."""
        return self.decode_ragged_batch(
            list(tokens), features, states, last_chunks=[last_chunk or flush_encoder] * len(states)
        )

    def decode_ragged_batch(
        self,
        tokens: list[torch.Tensor],
        features: PromptFeatures,
        states: list[BatchedToken2WavState],
        *,
        last_chunks: list[bool],
    ) -> tuple[list[torch.Tensor], list[BatchedToken2WavState]]:
        """Sound of chunks of any length; 960 samples at 24 kHz for each token that is not held back."""
        decoded = [_decode(*row) for row in zip(tokens, states, last_chunks, strict=True)]
        return [audio for audio, _ in decoded], [state for _, state in decoded]


def _decode(
    tokens: torch.Tensor, state: BatchedToken2WavState, last: bool
) -> tuple[torch.Tensor, BatchedToken2WavState]:
    voice, stream, index = state.hift_cache[PLACE].tolist()
    spoken = tokens.reshape(-1)
    if not last:
        spoken = spoken[: max(0, len(spoken) - LOOKAHEAD)]
    codes = spoken.cpu().numpy().astype(np.int64)
    audio = encode_frames(voice, stream, index, codes)
    return torch.from_numpy(audio), _state(voice, stream, index + len(codes))


def _state(voice: int, stream: int, index: int) -> BatchedToken2WavState:
    # A tensor, because the stage batches replies by the shapes and types of their states' tensors.
    return BatchedToken2WavState(
        flow_cache={}, hift_cache={PLACE: torch.tensor([voice, stream, index], dtype=torch.int64)}
    )


class TinyCode2Wav(MiniCPMO45Code2Wav):
    """The real stage with the light vocoder."""

    def _build_backend(self) -> None:
        if self.backend is None:
            self.backend: Any = MarkingVocoder()


def install(model_config: "ModelConfig") -> None:
    """Register `TinyCode2Wav` for the Code2Wav architecture, if `model_config` is the tiny checkpoint's."""
    from vllm_omni.model_executor.models import OmniModelRegistry

    if is_tiny(model_config.hf_config):
        OmniModelRegistry.register_model(ARCHITECTURE, TinyCode2Wav)


def is_tiny(hf_config: Any) -> bool:
    """Whether a checkpoint's config carries the tiny checkpoint's marker."""
    return bool(getattr(hf_config, MARKER, False))
