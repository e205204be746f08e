"""The tiny checkpoint is whole, small and the same for the same seed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from rig.engine.checkpoint import config, tokens
from rig.engine.checkpoint.writer import ensure_tiny, write_tiny
from rig.errors import UsageError

WRITE = """
import sys
from pathlib import Path
from rig.engine.checkpoint.writer import write_tiny
write_tiny(Path(sys.argv[1]), seed=int(sys.argv[2]), reply_s=3.0)
"""


def written_elsewhere(folder: Path, seed: int, hash_seed: str) -> dict[str, bytes]:
    """The checkpoint's files, as a process of its own writes them."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    subprocess.run([sys.executable, "-c", WRITE, str(folder), str(seed)], check=True, env=environment)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint") / "tiny"
    write_tiny(folder, seed=0, reply_s=3.0)
    return folder


def test_two_processes_write_the_same_bytes_for_the_same_seed(tmp_path: Path) -> None:
    first = written_elsewhere(tmp_path / "first", seed=5, hash_seed="1")
    second = written_elsewhere(tmp_path / "second", seed=5, hash_seed="2")
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []


def test_another_seed_gives_other_weights(checkpoint: Path, tmp_path: Path) -> None:
    write_tiny(tmp_path / "other", seed=1, reply_s=3.0)
    name = "llm.model.embed_tokens.weight"
    ours, theirs = (load_file(folder / "model.safetensors")[name] for folder in (checkpoint, tmp_path / "other"))
    assert not np.array_equal(ours, theirs)


def test_the_checkpoint_stays_under_64_mib(checkpoint: Path) -> None:
    assert sum(path.stat().st_size for path in checkpoint.rglob("*") if path.is_file()) < 64 * 2**20


def test_special_tokens_keep_their_released_ids(checkpoint: Path) -> None:
    content = json.loads((checkpoint / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = content["model"]["vocab"]
    assert len(vocabulary) == tokens.VOCAB_SIZE
    assert {index: token for token, index in vocabulary.items() if index in tokens.SPECIAL} == tokens.SPECIAL
    added = {entry["id"]: entry["content"] for entry in content["added_tokens"]}
    assert {index: added[index] for index in tokens.SPECIAL} == tokens.SPECIAL


def test_weights_have_the_shapes_that_the_config_names(checkpoint: Path) -> None:
    settings = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    tensors = load_file(checkpoint / "model.safetensors")
    assert tensors["llm.lm_head.weight"].shape == (settings["vocab_size"], settings["hidden_size"])
    assert tensors["tts.emb_code.0.weight"].shape == (config.CODES, settings["tts_config"]["hidden_size"])
    assert all(np.isfinite(tensor).all() for tensor in tensors.values())


def test_the_config_routes_to_minicpm_o_4_5_and_carries_the_marker(checkpoint: Path) -> None:
    settings = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    assert (settings["model_type"], settings["version"]) == ("minicpmo", "4.5")
    assert settings[config.MARKER] is True


def test_a_folder_that_holds_anything_is_refused(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("keep me", encoding="utf-8")
    with pytest.raises(UsageError, match="not empty"):
        write_tiny(tmp_path, seed=0, reply_s=3.0)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


def test_a_cached_checkpoint_is_written_once_for_each_seed_and_length(tmp_path: Path) -> None:
    first = ensure_tiny(tmp_path, seed=0, reply_s=3.0)
    written_ns = (first / "model.safetensors").stat().st_mtime_ns
    assert ensure_tiny(tmp_path, seed=0, reply_s=3.0) == first
    assert (first / "model.safetensors").stat().st_mtime_ns == written_ns
    assert ensure_tiny(tmp_path, seed=0, reply_s=2.0) != first
