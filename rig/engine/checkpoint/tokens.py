"""Token ids of the released MiniCPM-o 4.5, and a vocabulary of made-up words to speak with."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path

VOCAB_SIZE = 151_748
FIRST_SPECIAL = 151_643
BYTES = 256

SPECIAL = {
    151_643: "<|endoftext|>",
    151_644: "<|im_start|>",
    151_645: "<|im_end|>",
    151_669: "<unk>",
    151_670: "<image>",
    151_671: "</image>",
    151_672: "<slice>",
    151_673: "</slice>",
    151_674: "<unit>",
    151_675: "</unit>",
    151_676: "<|audio|>",
    151_677: "<|audio_start|>",
    151_678: "<|audio_end|>",
    151_687: "<|audio_bos|>",
    151_692: "<|text_eos|>",
    151_700: "<|spk_bos|>",
    151_701: "<|spk|>",
    151_702: "<|spk_eos|>",
    151_703: "<|tts_bos|>",
    151_704: "<|tts_eos|>",
    151_705: "<|listen|>",
    151_706: "<|speak|>",
    151_707: "<|tts_pad|>",
    151_708: "<|chunk_eos|>",
    151_709: "<|chunk_tts_eos|>",
    151_710: "<|turn_eos|>",
}
TTS_BOS, LISTEN, SPEAK, TURN_EOS = 151_703, 151_705, 151_706, 151_710

_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"
SPACE = "\u0120"
"""How byte-level tokenizers write a leading space."""


def words() -> list[str]:
    """Made-up two-syllable words of four letters; their ids begin right after the bytes."""
    syllables = ["".join(pair) for pair in product(_CONSONANTS, _VOWELS)]
    return [first + second for first, second in product(syllables, syllables) if first != second][:WORD_COUNT]


FIRST_WORD = BYTES
WORDS_PER_PLACE = 170
"""Words that may stand in one place of a unit; see `weights`."""

WORD_COUNT = 3 * WORDS_PER_PLACE


def vocabulary(byte_alphabet: list[str]) -> Iterator[tuple[str, int]]:
    """Every token with its id: bytes, words, fillers up to the released special tokens, the specials."""
    spoken = words()
    for index in range(VOCAB_SIZE):
        if index < BYTES:
            yield byte_alphabet[index], index
        elif index < FIRST_WORD + WORD_COUNT:
            yield SPACE + spoken[index - FIRST_WORD], index
        elif index < FIRST_SPECIAL:
            yield f"filler{index}", index
        else:
            yield special_name(index), index


def special_name(index: int) -> str:
    """The released name of a special token, or a reserved one."""
    return SPECIAL.get(index, f"<|reserved_{index}|>")


def write_tokenizer(folder: Path) -> None:
    """Write tokenizer.json and tokenizer_config.json."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab=dict(vocabulary(alphabet)), merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [AddedToken(special_name(index), special=True) for index in range(FIRST_SPECIAL, VOCAB_SIZE)]
    )
    # Not Tokenizer.save: it writes the vocabulary in an order that differs from process to process.
    content = json.loads(tokenizer.to_str())
    content["model"]["vocab"] = dict(sorted(content["model"]["vocab"].items(), key=lambda item: item[1]))
    (folder / "tokenizer.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    config = {
        "tokenizer_class": "MiniCPMOTokenizerFast",
        "auto_map": {"AutoTokenizer": [None, "tokenization_minicpmo.MiniCPMOTokenizerFast"]},
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "unk_token": "<unk>",
        "model_max_length": 8192,
        "chat_template": (
            "{% for m in messages %}<|im_start|>{{m.role}}\n{{m.content}}<|im_end|>\n{% endfor %}"
            "<|im_start|>assistant\n"
        ),
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
