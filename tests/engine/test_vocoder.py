"""The light vocoder works behind the real Code2Wav stage, and its sound tells whose it is and what is missing."""

import importlib.util
import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(importlib.util.find_spec("vllm_omni") is None, reason="no engine is installed")

# In a process of its own: importing vLLM takes seconds, warns, and changes global state.
TWO_CALLERS = """
import io, json
from types import SimpleNamespace as Space
import numpy as np, soundfile, torch
from rig.engine.vocoder import TinyCode2Wav
from rig.marks import MarkReader, reference_wav

connector = {"extra": {"codec_chunk_frames": 25, "codec_left_context_frames": 3}}
model = Space(model="/nowhere", revision=None, stage_connector_config=connector)
stage = TinyCode2Wav(vllm_config=Space(model_config=model))
stage.load_weights([])

def chunk(name, voice, seq, codes, last):
    wav, rate = soundfile.read(io.BytesIO(reference_wav(voice)), dtype="float32")
    meta = {"request_id": name, "chunk_seq": seq, "last_chunk": last, "ref_audio_sr": rate}
    return {"codes": {"audio": torch.tensor(codes), "ref": wav.tolist() if seq == 0 else None}, "meta": meta}

def step(*chunks):
    ids = torch.cat([info["codes"]["audio"] for info in chunks])
    counts = [info["codes"]["audio"].numel() for info in chunks]
    names = [info["meta"]["request_id"] for info in chunks]
    out = stage.forward(ids, runtime_additional_information=list(chunks), seq_token_counts=counts, request_ids=names)
    for name, sound in zip(names, out.multimodal_outputs["model_outputs"]):
        pcm = (sound.numpy() * 32767).astype(np.int16)
        heard[name] += [(m.voice, m.index, m.token) for m in readers[name].feed(pcm)]

heard, readers = {"a": [], "b": []}, {"a": MarkReader(), "b": MarkReader()}
# A chunk brings the last three codes of the one before (of silence, at first) and holds back its own last three.
step(chunk("a", 11, 0, [7, 7, 7, *range(100, 125)], False))
step(chunk("a", 11, 1, [122, 123, 124, *range(125, 150)], False), chunk("b", 22, 0, [7, 7, 7, *range(200, 225)], False))
step(chunk("a", 11, 2, [147, 148, 149, *range(150, 160)], True), chunk("b", 22, 1, [222, 223, 224], True))
unreadable = {name: reader.unreadable_samples for name, reader in readers.items()}
print(json.dumps({"heard": heard, "unreadable": unreadable, "left": sorted(stage._states)}))
"""

ONLY_TINY = """
import json
from types import SimpleNamespace as Space
from rig.engine.vocoder import ARCHITECTURE, install
from vllm_omni.model_executor.models import OmniModelRegistry

def registered():
    return OmniModelRegistry.models[ARCHITECTURE].load_model_cls().__name__

seen = [registered()]
install(Space(hf_config=Space()))
seen.append(registered())
install(Space(hf_config=Space(rig_tiny=True)))
seen.append(registered())
print(json.dumps(seen))
"""


def printed(program: str) -> object:
    """What a fresh interpreter prints last, as JSON."""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout.splitlines()[-1])


def test_two_callers_batched_together_each_hear_every_token_once_in_their_own_voice() -> None:
    codes_a, codes_b = [7, 7, 7, *range(100, 160)], [7, 7, 7, *range(200, 225)]
    assert printed(TWO_CALLERS) == {
        "heard": {
            "a": [[11, index, token] for index, token in enumerate(codes_a)],
            "b": [[22, index, token] for index, token in enumerate(codes_b)],
        },
        "unreadable": {"a": 0, "b": 0},
        "left": [],
    }


def test_only_the_tiny_checkpoint_gets_the_light_vocoder() -> None:
    assert printed(ONLY_TINY) == ["MiniCPMO45Code2Wav", "MiniCPMO45Code2Wav", "TinyCode2Wav"]
