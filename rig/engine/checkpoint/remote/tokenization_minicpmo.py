"""Tokenizer class of the checkpoint: a fast tokenizer with the named ids that the MiniCPM-o processors ask for."""

from transformers import PreTrainedTokenizerFast

_NAMED_TOKENS = {
    "im_start_id": "<image>",
    "im_end_id": "</image>",
    "slice_start_id": "<slice>",
    "slice_end_id": "</slice>",
    "audio_start_id": "<|audio_start|>",
    "audio_end_id": "<|audio_end|>",
    "spk_start_id": "<|spk_bos|>",
    "spk_end_id": "<|spk_eos|>",
    "bos_id": "<|endoftext|>",
    "eos_id": "<|im_end|>",
    "eot_id": "<|im_end|>",
    "unk_id": "<unk>",
}


class MiniCPMOTokenizerFast(PreTrainedTokenizerFast):
    """Byte-level tokenizer with MiniCPM-o's special tokens at their released ids."""

    audio_start = "<|audio_start|>"
    audio_end = "<|audio_end|>"


def _named(token: str) -> property:
    return property(lambda self: self.convert_tokens_to_ids(token))


for _name, _token in _NAMED_TOKENS.items():
    setattr(MiniCPMOTokenizerFast, _name, _named(_token))
