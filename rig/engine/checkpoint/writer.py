"""Writing the checkpoint folder, whole or not at all."""

import hashlib
import json
import os
import shutil
import tempfile
from importlib import resources
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from rig.engine.checkpoint import config, tokens
from rig.engine.checkpoint.weights import weights
from rig.errors import UsageError
from rig.marks import reference_wav

REMOTE_MODULES = ("configuration_minicpmo.py", "processing_minicpmo.py", "tokenization_minicpmo.py")
STAMP = "rig_tiny.json"
DEFAULT_VOICE = 1


def write_tiny(directory: Path, *, seed: int, reply_s: float) -> None:
    """Write the checkpoint into a new or empty `directory`: same seed and length, same bytes.

    Raises UsageError when the directory holds anything already.
    """
    if directory.exists() and any(directory.iterdir()):
        raise UsageError(f"{directory} is not empty; name a new folder for the checkpoint")
    directory.parent.mkdir(parents=True, exist_ok=True)
    # A folder of this name is always a whole checkpoint: it is made beside and then renamed.
    work = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    try:
        _fill(work, seed, reply_s)
        work.chmod(0o755)
        os.replace(work, directory)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def ensure_tiny(cache: Path, *, seed: int, reply_s: float) -> Path:
    """The checkpoint of this seed and length under `cache`, written now if it is not there."""
    directory = cache / f"tiny-{_recipe(seed, reply_s)[:16]}"
    if not (directory / STAMP).is_file():
        write_tiny(directory, seed=seed, reply_s=reply_s)
    return directory


def _recipe(seed: int, reply_s: float) -> str:
    """Hash of all that decides the bytes: this package's own source, the seed, the length."""
    digest = hashlib.sha256(f"{seed}/{reply_s}".encode())
    package = resources.files("rig.engine.checkpoint")
    for folder in (package, package / "remote"):
        for item in sorted(folder.iterdir(), key=lambda entry: entry.name):
            if item.name.endswith(".py"):
                digest.update(item.read_bytes())
    return digest.hexdigest()


def _fill(folder: Path, seed: int, reply_s: float) -> None:
    settings = config.model_config(tokens.VOCAB_SIZE)
    _write_json(folder / "config.json", settings)
    generation = {key: settings[key] for key in ("bos_token_id", "eos_token_id")}
    _write_json(folder / "generation_config.json", generation)
    remote = resources.files("rig.engine.checkpoint.remote")
    for name in REMOTE_MODULES:
        (folder / name).write_bytes((remote / name).read_bytes())
    tokens.write_tokenizer(folder)
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in weights(seed, reply_s).items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    assets = folder / "assets"
    assets.mkdir()
    (assets / "HT_ref_audio.wav").write_bytes(reference_wav(DEFAULT_VOICE))
    _write_json(folder / STAMP, {"seed": seed, "reply_s": reply_s})


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
