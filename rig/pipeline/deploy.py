"""From a pipeline's settings to vLLM-Omni's own: deploy file, command line and environment of the server."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from rig.config.pipeline import STAGE_NAMES, PipelineConfig, Stage, TinyModel
from rig.engine.patches import plugin
from rig.engine.recorder import plugin as recorder_plugin

MODEL_PIPELINE = "minicpmo_4_5"
CONNECTOR = "connector_of_shared_memory"
SENDER, RECEIVER = STAGE_NAMES.index("talker"), STAGE_NAMES.index("code2wav")

SERVER_ENV = {
    "NO_COLOR": "1",
    "VLLM_LOGGING_COLOR": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
"""For every server: logs without colours, no calls home."""

OFFLINE_ENV = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
"""For a checkpoint that lies on disk: nothing is looked up in the network."""

UNSET_ENV = ("PYTHONUNBUFFERED",)
"""Unbuffered, vLLM writes the prefix and the text of a log line apart, and lines of several processes mix."""


@dataclass(frozen=True)
class Launch:
    """How the server is started: all that the operating system needs, and where it listens."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    host: str
    port: int
    nice: int = 0

    @property
    def url(self) -> str:
        """Base URL of the server's WebSockets."""
        return f"ws://{self.host}:{self.port}"


def deploy(config: PipelineConfig) -> dict[str, object]:
    """The content of vLLM-Omni's deploy file. None leaves upstream's default."""
    stages: tuple[Stage, ...] = tuple(getattr(config.stages, name) for name in STAGE_NAMES)
    return {
        "pipeline": MODEL_PIPELINE,
        "async_chunk": True,
        "session_mode": "duplex",
        "duplex_session": config.duplex_session.model_dump(),
        "trust_remote_code": True,
        "enable_prefix_caching": False,
        "connectors": {CONNECTOR: {"name": "SharedMemoryConnector", "extra": dict(config.connector)}},
        "stages": [_stage(stage_id, stage) for stage_id, stage in enumerate(stages)],
    }


def write_deploy(config: PipelineConfig, path: Path) -> None:
    """Write the deploy file."""
    path.write_text(yaml.safe_dump(deploy(config), sort_keys=False), encoding="utf-8")


def launch(
    config: PipelineConfig,
    model: str,
    deploy_file: Path,
    port: int,
    base_env: Mapping[str, str],
    recorder: Path | None = None,
) -> Launch:
    """The command line and environment of the server; `model` is a folder or a Hugging Face name.

    The environment is `base_env`, the rig's own additions, and the pipeline's `env` last. `recorder` is the folder for
    what the flight recorders write (absolute), where the pipeline wants them.
    """
    argv = (
        sys.executable,
        "-m",
        "vllm_omni.entrypoints.cli.main",
        "serve",
        model,
        "--omni",
        "--deploy-config",
        str(deploy_file),
        "--trust-remote-code",
        "--host",
        config.host,
        "--port",
        str(port),
        "--served-model-name",
        config.served_model_name,
        # The rig asks once a second; the log is for what the server does.
        "--disable-access-log-for-endpoints",
        "/health",
    )
    added = dict(SERVER_ENV)
    if isinstance(config.model, TinyModel) or Path(model).is_dir():
        added |= OFFLINE_ENV
    if config.patches:
        added[plugin.ENVIRONMENT] = ",".join(config.patches)
    if config.bugs:
        added[plugin.BUGS_ENVIRONMENT] = ",".join(config.bugs)
    if config.recorder and recorder is not None:
        added[recorder_plugin.ENVIRONMENT] = str(recorder)
    own = (*UNSET_ENV, plugin.ENVIRONMENT, plugin.BUGS_ENVIRONMENT, recorder_plugin.ENVIRONMENT)
    kept = {key: value for key, value in base_env.items() if key not in own}
    environment = kept | added | dict(config.env)
    return Launch(argv, environment, config.host, port, config.nice)


def rig_environment() -> dict[str, str]:
    """The environment the rig itself runs in."""
    return dict(os.environ)


def _stage(stage_id: int, stage: Stage) -> dict[str, object]:
    settings = stage.model_dump(exclude_none=True)
    extra = settings.pop("extra")
    wiring: dict[str, object] = {}
    if stage_id == SENDER:
        wiring["output_connectors"] = {f"to_stage_{RECEIVER}": CONNECTOR}
    if stage_id == RECEIVER:
        wiring["input_connectors"] = {f"from_stage_{SENDER}": CONNECTOR}
    return {"stage_id": stage_id, **settings, **wiring, **extra}
