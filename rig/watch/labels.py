"""Which part of the pipeline a process is, from what vLLM calls it."""

import re

from rig.config.pipeline import STAGE_NAMES
from rig.events.types import HELPER, STARTING

API_SERVER = "api_server"

_STAGE = re.compile(r"^VLLM::StageEngineCoreProc_stage(\d+)_")
_NAMED = re.compile(r"^VLLM::(\w+)")
_SPAWNED = "multiprocessing.spawn import spawn_main"
_LOG_STAGE = re.compile(r"^StageEngineCoreProc_stage(\d+)_")


def stage_name(stage_id: int) -> str:
    """The name of a vLLM-Omni stage id."""
    return STAGE_NAMES[stage_id] if stage_id < len(STAGE_NAMES) else f"stage{stage_id}"


def label(title: str, parent_label: str, parent_title: str) -> str:
    """The label of a process below the API server: `thinker`, `thinker/worker`, `starting`, `helper`."""
    if title == parent_title:
        # Forked a moment ago: it still carries its parent's name.
        return HELPER
    if match := _STAGE.match(title):
        return stage_name(int(match[1]))
    if title.startswith("VLLM::Worker"):
        return f"{parent_label}/worker"
    if match := _NAMED.match(title):
        return match[1].lower()
    return STARTING if _SPAWNED in title else HELPER


def label_of_log(name: str) -> str:
    """The label of a log line's source, from the name in its prefix, for a process that was never seen."""
    if match := _LOG_STAGE.match(name):
        return stage_name(int(match[1]))
    return API_SERVER if name == "APIServer" else name.lower()
