"""Weights that hold a conversation.

Random weights rarely listen, answer or end a turn, so a few channels of the Thinker's hidden state carry the decisions
and the rest is seeded noise. Every embedding holds a constant in channel 0; the sound of the last 100 ms stands in
channel 1; the kind of the last token stands in the channels after it. Attention and MLP add next to nothing to the
residual stream, so a row of the LM head sees these channels undisturbed and sets the odds of its token. A second of a
reply goes through one row of this table after the other:

    last input        next token
    loud sound        <|listen|> (and vLLM-Omni itself forces <|listen|> when there is nothing to answer)
    quiet sound       <|speak|>
    <|speak|>         a first word
    a first word      a second word
    a second word     a third word, or <|turn_eos|> with the odds that give the wanted length of reply

vLLM-Omni 0.30.0 forces <|listen|> right after a <|turn_eos|> that is not the last token it allows in a unit, takes the
unit for one in which the model only listened, and loses the end of the turn. So a unit has exactly four tokens
(`config.TOKENS_PER_UNIT`), and the fourth is the only one that may be <|turn_eos|>.

The Talker ends a unit with the same odds after each codec token, and never before the first one. A reply without any is
one that vLLM-Omni 0.30.0 keeps to itself: the caller gets `response.listen` and waits for ever.
"""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from rig.engine.checkpoint import config as shape
from rig.engine.checkpoint import tokens

Array = npt.NDArray[np.float16]
Wide = npt.NDArray[np.float32]

CONSTANT, LOUD, IS_SPEAK, IS_FIRST, IS_SECOND, IS_THIRD, IS_TURN_END, IS_OTHER = range(8)
CHANNELS = 8
KINDS = range(IS_SPEAK, CHANNELS)
LEVEL = 4.0
FLAG = 2.0
NOISE_NORM = 2.0
NEVER = -30.0

IS_CODE = 1
"""Channel of the Talker's hidden state that tells a codec token from the text before it."""

CODEC_END_ODDS = 0.04
"""Per codec token but the first, where the Talker may end: in the first and the last second of a reply."""

END_CORRECTION_S = 0.25
"""What a reply of several units lacks on average because the Talker may end its first second early."""

SAMPLING_TEMPERATURE, SAMPLING_TOP_P, REPETITION_PENALTY = 0.7, 0.8, 1.05
"""How vLLM-Omni 0.30.0 samples a duplex session's text, whatever the deploy settings say."""


def weights(seed: int, reply_s: float) -> dict[str, Array]:
    """Every tensor of the checkpoint as float16, in a fixed order. `reply_s` is the mean length of a reply."""
    noise = np.random.Generator(np.random.PCG64(seed))
    named = {**dict(_thinker(noise, reply_s)), **dict(_audio_encoder()), **dict(_talker(noise))}
    return {name: tensor.astype(np.float16) for name, tensor in named.items()}


def _thinker(noise: np.random.Generator, reply_s: float) -> Iterator[tuple[str, Wide]]:
    embedding = _noise(noise, tokens.VOCAB_SIZE, shape.HIDDEN)
    embedding[:, CONSTANT] = LEVEL
    embedding[np.arange(tokens.VOCAB_SIZE), _kinds()] = FLAG
    yield "llm.model.embed_tokens.weight", embedding
    yield from _decoder(noise, "llm.model.", shape.LAYERS, qk_norm=True, sizes=_THINKER_SIZES)
    yield "llm.lm_head.weight", _head(reply_s)


def _kinds() -> npt.NDArray[np.int64]:
    """The channel of each token's kind."""
    kinds = np.full(tokens.VOCAB_SIZE, IS_OTHER)
    # <|tts_bos|> too: vLLM-Omni puts it in where the model would listen in the middle of its own turn.
    kinds[[tokens.SPEAK, tokens.TTS_BOS]] = IS_SPEAK
    kinds[tokens.TURN_EOS] = IS_TURN_END
    for place, kind in enumerate((IS_FIRST, IS_SECOND, IS_THIRD)):
        kinds[_words(place)] = kind
    return kinds


def _words(place: int) -> slice:
    """Ids of the words that may stand in the first, second or third place of a unit."""
    start = tokens.FIRST_WORD + place * tokens.WORDS_PER_PLACE
    return slice(start, start + tokens.WORDS_PER_PLACE)


def _head(reply_s: float) -> Wide:
    """Rows of the LM head, for hidden states normalised to a root mean square of 1."""
    scale = math.sqrt(shape.HIDDEN) / math.sqrt(LEVEL**2 + FLAG**2 + NOISE_NORM**2)
    constant, flag = LEVEL * scale, FLAG * scale
    head = np.zeros((tokens.VOCAB_SIZE, shape.HIDDEN), dtype=np.float32)
    head[:, CONSTANT] = NEVER / constant
    for place, before in enumerate((IS_SPEAK, IS_FIRST, IS_SECOND)):
        head[_words(place), before] = -NEVER / flag
    head[tokens.SPEAK, CONSTANT] = 0
    head[tokens.SPEAK, KINDS] = NEVER / flag
    head[tokens.SPEAK, LOUD] = -10
    head[tokens.LISTEN, LOUD] = 12
    head[tokens.TURN_EOS, IS_SECOND] = (turn_end_logit(reply_s) - NEVER) / flag
    return head


def turn_end_logit(reply_s: float) -> float:
    """Logit of <|turn_eos|> against `tokens.WORDS_PER_PLACE` words of logit 0: one chance to end per second of a reply.

    Top-p keeps <|turn_eos|>, the likeliest token, and so many of the equally likely words as fill the rest.
    """
    odds = min(0.95, 1 / (reply_s + END_CORRECTION_S))
    ratio = odds / (1 - odds)
    weight = ratio * SAMPLING_TOP_P * tokens.WORDS_PER_PLACE / (1 + ratio * (1 - SAMPLING_TOP_P))
    # The penalty divides the logit of a token said before: of <|turn_eos|> in every reply of a session but the first.
    return math.log(weight) * SAMPLING_TEMPERATURE * REPETITION_PENALTY


def _audio_encoder() -> Iterator[tuple[str, Wide]]:
    """Loudness of each frame through the real Whisper-like encoder into one channel; see the module docstring."""
    width = shape.AUDIO_WIDTH
    first, second = np.zeros((width, shape.MEL_BINS, 3)), np.zeros((width, width, 3))
    first_bias, second_bias = np.zeros(width), np.zeros(width)
    # Mean log-mel is -1.5 in silence, about -0.75 in a pause, above -0.3 in speech.
    first[0, :, 1] = 8 / shape.MEL_BINS
    first_bias[0], first_bias[1] = 8 * 0.35, 3
    second[0, 0, 1] = 1
    # A fixed second channel survives the layer norm as the yardstick that loudness is measured against.
    second_bias[1] = 3
    yield "apm.conv1.weight", _f32(first)
    yield "apm.conv1.bias", _f32(first_bias)
    yield "apm.conv2.weight", _f32(second)
    yield "apm.conv2.bias", _f32(second_bias)
    yield "apm.embed_positions.weight", _f32(np.zeros((shape.AUDIO_POSITIONS, width)))
    layer = "apm.layers.0."
    for name in ("q_proj", "v_proj", "out_proj"):
        yield f"{layer}self_attn.{name}.weight", _f32(np.zeros((width, width)))
        yield f"{layer}self_attn.{name}.bias", _f32(np.zeros(width))
    yield f"{layer}self_attn.k_proj.weight", _f32(np.zeros((width, width)))
    for name in (f"{layer}self_attn_layer_norm", f"{layer}final_layer_norm", "apm.layer_norm"):
        yield f"{name}.weight", _f32(np.ones(width))
        yield f"{name}.bias", _f32(np.zeros(width))
    yield f"{layer}fc1.weight", _f32(np.zeros((shape.AUDIO_FFN, width)))
    yield f"{layer}fc1.bias", _f32(np.zeros(shape.AUDIO_FFN))
    yield f"{layer}fc2.weight", _f32(np.zeros((width, shape.AUDIO_FFN)))
    yield f"{layer}fc2.bias", _f32(np.zeros(width))
    yield from _audio_projection()


def _audio_projection() -> Iterator[tuple[str, Wide]]:
    pick, place = np.zeros((shape.HIDDEN, shape.AUDIO_WIDTH)), np.zeros((shape.HIDDEN, shape.HIDDEN))
    pick_bias, place_bias = np.zeros(shape.HIDDEN), np.zeros(shape.HIDDEN)
    pick[0, 0], pick_bias[0] = 1, -1
    place[LOUD, 0] = 1
    place_bias[CONSTANT] = LEVEL
    yield "audio_projection_layer.linear1.weight", _f32(pick)
    yield "audio_projection_layer.linear1.bias", _f32(pick_bias)
    yield "audio_projection_layer.linear2.weight", _f32(place)
    yield "audio_projection_layer.linear2.bias", _f32(place_bias)


def _talker(noise: np.random.Generator) -> Iterator[tuple[str, Wide]]:
    hidden = shape.TALKER_HIDDEN
    yield from _decoder(noise, "tts.model.", shape.TALKER_LAYERS, qk_norm=False, sizes=_TALKER_SIZES)
    yield "tts.model.embed_tokens.weight", _f32(np.zeros((shape.TALKER_EMBED_ROWS, hidden)))
    for name, rows, is_code in (("emb_text", shape.TALKER_TEXT_TOKENS, 0.0), ("emb_code.0", shape.CODES, FLAG)):
        embedding = _noise(noise, rows, hidden)
        embedding[:, [CONSTANT, IS_CODE]] = LEVEL, is_code
        yield f"tts.{name}.weight", embedding
    yield "tts.projector_semantic.linear1.weight", _small(noise, hidden, shape.HIDDEN)
    yield "tts.projector_semantic.linear1.bias", _f32(np.zeros(hidden))
    yield "tts.projector_semantic.linear2.weight", _small(noise, hidden, hidden)
    yield "tts.projector_semantic.linear2.bias", _f32(np.zeros(hidden))
    direction = _noise(noise, shape.CODES, hidden)
    length = np.full((shape.CODES, 1), 0.2)
    direction[shape.CODEC_EOS] = _codec_end_row()
    length[shape.CODEC_EOS] = np.linalg.norm(direction[shape.CODEC_EOS])
    yield "tts.head_code.0.parametrizations.weight.original0", _f32(length)
    yield "tts.head_code.0.parametrizations.weight.original1", direction


def _codec_end_row() -> Wide:
    """Row of the Talker's head for its end token: never after text, `CODEC_END_ODDS` after a codec token."""
    scale = math.sqrt(shape.TALKER_HIDDEN) / math.sqrt(LEVEL**2 + FLAG**2 + NOISE_NORM**2)
    after_code = math.log((shape.CODES - 1) * CODEC_END_ODDS / (1 - CODEC_END_ODDS))
    row = np.zeros(shape.TALKER_HIDDEN, dtype=np.float32)
    row[CONSTANT] = NEVER / (LEVEL * scale)
    row[IS_CODE] = (after_code - NEVER) / (FLAG * scale)
    return row


_THINKER_SIZES = (shape.HIDDEN, shape.HEADS * shape.HEAD_DIM, shape.KV_HEADS * shape.HEAD_DIM, shape.FFN)
_TALKER_SIZES = (shape.TALKER_HIDDEN, shape.TALKER_HIDDEN, shape.TALKER_HIDDEN, shape.TALKER_FFN)


def _decoder(
    noise: np.random.Generator, prefix: str, layers: int, *, qk_norm: bool, sizes: tuple[int, int, int, int]
) -> Iterator[tuple[str, Wide]]:
    hidden, queries, keys, ffn = sizes
    for index in range(layers):
        layer = f"{prefix}layers.{index}."
        shapes = {
            "self_attn.q_proj": (queries, hidden),
            "self_attn.k_proj": (keys, hidden),
            "self_attn.v_proj": (keys, hidden),
            "self_attn.o_proj": (hidden, queries),
            "mlp.gate_proj": (ffn, hidden),
            "mlp.up_proj": (ffn, hidden),
            "mlp.down_proj": (hidden, ffn),
        }
        for name, (rows, columns) in shapes.items():
            yield f"{layer}{name}.weight", _small(noise, rows, columns)
        if qk_norm:
            for name in ("q_norm", "k_norm"):
                yield f"{layer}self_attn.{name}.weight", _f32(np.ones(shape.HEAD_DIM))
        for name in ("input_layernorm", "post_attention_layernorm"):
            yield f"{layer}{name}.weight", _f32(np.ones(hidden))
    yield f"{prefix}norm.weight", _f32(np.ones(hidden))


def _noise(noise: np.random.Generator, rows: int, columns: int) -> Wide:
    """Random rows of one length outside of the decision channels, so that normalising scales them all alike."""
    free = noise.standard_normal((rows, columns - CHANNELS), dtype=np.float32)
    free *= NOISE_NORM / np.linalg.norm(free, axis=1, keepdims=True)
    return np.concatenate([np.zeros((rows, CHANNELS), dtype=np.float32), free], axis=1)


def _small(noise: np.random.Generator, rows: int, columns: int) -> Wide:
    return noise.standard_normal((rows, columns), dtype=np.float32) * np.float32(0.01)


def _f32(array: npt.NDArray[np.float64]) -> Wide:
    return array.astype(np.float32)
