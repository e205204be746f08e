"""config.json of the tiny checkpoint: the released keys and ids at toy width."""

from typing import Any

HIDDEN = 64
LAYERS = 2
HEADS = 2
KV_HEADS = 1
HEAD_DIM = 64
FFN = 128

AUDIO_WIDTH = 64
AUDIO_FFN = 4 * AUDIO_WIDTH
MEL_BINS = 80
AUDIO_POSITIONS = 1_500

TALKER_HIDDEN = 32
TALKER_FFN = 64
TALKER_LAYERS = 2
TALKER_HEADS = 1
CODES = 6_562
CODEC_EOS = CODES - 1
TALKER_TEXT_TOKENS = 152_064
TALKER_EMBED_ROWS = 32_000
"""Rows of the Llama token table that vLLM-Omni's Talker builds and never reads."""

MARKER = "rig_tiny"
"""Key in config.json that tells the engine plugin to put the light vocoder behind Code2Wav."""

UNIT_KEY = "rig_tokens_per_unit"
TOKENS_PER_UNIT = 4
"""Tokens that the Thinker decides in each one-second unit of a reply, its terminator not counted; see `weights`."""


def model_config(vocab_size: int) -> dict[str, Any]:
    """The whole config."""
    return {
        "architectures": ["MiniCPMO"],
        "model_type": "minicpmo",
        "version": "4.5",
        MARKER: True,
        UNIT_KEY: TOKENS_PER_UNIT,
        "auto_map": {
            "AutoConfig": "configuration_minicpmo.MiniCPMOConfig",
            "AutoProcessor": "processing_minicpmo.MiniCPMOProcessor",
        },
        "vocab_size": vocab_size,
        "hidden_size": HIDDEN,
        "intermediate_size": FFN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": HEAD_DIM,
        "attention_bias": False,
        "hidden_act": "silu",
        "max_position_embeddings": 40_960,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1_000_000.0,
        "tie_word_embeddings": False,
        "bos_token_id": 151_643,
        "eos_token_id": [151_645, 151_704],
        "torch_dtype": "float32",
        "query_num": 64,
        "image_size": 448,
        "drop_vision_last_layer": False,
        "vision_batch_size": 16,
        "audio_pool_step": 5,
        "audio_chunk_length": 1.0,
        "stream_input": True,
        "init_vision": False,
        "init_audio": True,
        "init_tts": True,
        "slice_config": {"max_slice_nums": 1, "patch_size": 14, "model_type": "minicpmv"},
        "vision_config": _vision(),
        "audio_config": _audio(),
        "tts_config": _talker(),
    }


def _vision() -> dict[str, Any]:
    return {
        "hidden_size": 64,
        "image_size": 448,
        "intermediate_size": 128,
        "model_type": "siglip",
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "patch_size": 14,
    }


def _audio() -> dict[str, Any]:
    return {
        "d_model": AUDIO_WIDTH,
        "encoder_layers": 1,
        "encoder_attention_heads": 2,
        "encoder_ffn_dim": AUDIO_FFN,
        "num_mel_bins": MEL_BINS,
        "max_source_positions": AUDIO_POSITIONS,
        "decoder_layers": 1,
        "decoder_attention_heads": 2,
        "decoder_ffn_dim": AUDIO_FFN,
        "vocab_size": 100,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "activation_function": "gelu",
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
    }


def _talker() -> dict[str, Any]:
    return {
        "model_type": "minicpmtts",
        "llm_dim": HIDDEN,
        "hidden_size": TALKER_HIDDEN,
        "intermediate_size": TALKER_FFN,
        "num_attention_heads": TALKER_HEADS,
        "num_key_value_heads": TALKER_HEADS,
        "num_hidden_layers": TALKER_LAYERS,
        "max_position_embeddings": 4_096,
        "num_audio_tokens": CODES,
        "num_text_tokens": TALKER_TEXT_TOKENS,
        "num_vq": 1,
        "audio_bos_token_id": 151_687,
        "text_eos_token_id": 151_692,
        "vocab_size": CODES,
        "eos_token_id": CODEC_EOS,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "normalize_projected_hidden": True,
        "attention_type": "full_attention",
        "top_p": 0.85,
        "top_k": 25,
        "temperature": 0.8,
        "repetition_penalty": 1.05,
    }
