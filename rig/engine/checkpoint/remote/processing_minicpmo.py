"""Processor class of the checkpoint: mel features for whole clips and for one-second units of a stream."""

from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer, BatchFeature, WhisperFeatureExtractor
from vllm.transformers_utils.processors.minicpmo import MiniCPMOProcessor as _Base
from vllm_omni.model_executor.models.minicpmo_4_5.minicpmo_4_5_omni_llm import MiniCPMVImageProcessor

SAMPLE_RATE_HZ = 16_000
HOP = 160
UNIT_SAMPLES = 16_000
UNIT_FRAMES = 104
"""Mel frames of a one-second unit: 100, and two of context on either side that the model cuts off again."""


class MiniCPMOProcessor(_Base):
    """MiniCPM-o processor without the vision half."""

    def __init__(
        self, image_processor: Any = None, feature_extractor: Any = None, tokenizer: Any = None, pool_step: int = 5
    ) -> None:
        # The base asks for a vision processor of its own and for files that a tiny checkpoint has not.
        self.image_processor = image_processor
        self.feature_extractor = feature_extractor
        self.tokenizer = tokenizer
        self.pool_step = pool_step
        self.version = None
        self.chat_template = None
        self.audio_tokenizer = None

    def check_argument_for_proper_class(self, *_: Any, **__: Any) -> None:
        """Accept the parts as they are."""

    @classmethod
    def from_pretrained(cls, path: str, **kwargs: Any) -> "MiniCPMOProcessor":
        """Build the processor of the checkpoint in `path`."""
        tokenizer = kwargs.get("tokenizer") or AutoTokenizer.from_pretrained(path, trust_remote_code=True)
        features = WhisperFeatureExtractor(feature_size=80, sampling_rate=SAMPLE_RATE_HZ, hop_length=HOP, n_fft=400)
        image = MiniCPMVImageProcessor(
            max_slice_nums=1, scale_resolution=448, patch_size=14, use_image_id=True, image_feature_size=64
        )
        return cls(image, features, tokenizer)

    def set_streaming_mode(self, **_: Any) -> None:
        """Streaming needs no mode: every unit stands alone."""

    def reset_streaming(self) -> None:
        """There is no state between units."""

    def get_streaming_chunk_size(self) -> int:
        """Samples of one model unit."""
        return UNIT_SAMPLES

    def process_audio_streaming(
        self, chunk: Any, reset: bool = False, return_batch_feature: bool = True
    ) -> BatchFeature:
        """Features of one unit: float (1, 80, 104)."""
        padded = np.pad(np.asarray(chunk, dtype=np.float32), (0, 4 * HOP))
        features = self._mel(padded)[:, :, :UNIT_FRAMES]
        return self._batch(features)

    def process_audio(self, audios: Any) -> BatchFeature:
        """Features of a whole clip: float (1, 80, frames)."""
        return self._batch(self._mel(audios[0]))

    def _mel(self, samples: Any) -> torch.Tensor:
        extracted = self.feature_extractor(
            samples, sampling_rate=SAMPLE_RATE_HZ, return_tensors="pt", padding="do_not_pad"
        )
        return extracted.input_features

    @staticmethod
    def _batch(features: torch.Tensor) -> BatchFeature:
        return BatchFeature({"audio_features": features, "audio_feature_lens": [torch.tensor([features.shape[-1]])]})
