"""From a pipeline file's model to what the server is started with."""

import os
from pathlib import Path

from rig.config.pipeline import GoldenPipeline, PipelineConfig, TinyModel


def model_of(config: PipelineConfig | GoldenPipeline) -> str:
    """A folder (absolute) or a Hugging Face name; the tiny checkpoint is written on first use."""
    if isinstance(config, GoldenPipeline):
        return config.served_model_name
    if not isinstance(config.model, TinyModel):
        return config.model.name
    from rig.engine.checkpoint.writer import ensure_tiny

    return str(ensure_tiny(cache_folder(), seed=config.model.seed, reply_s=config.model.reply_s))


def cache_folder() -> Path:
    """Where checkpoints are kept between runs: $XDG_CACHE_HOME or ~/.cache."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "omni-realtime-rig"
