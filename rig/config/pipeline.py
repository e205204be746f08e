"""The pipeline file: the server under test, and how to start it."""

import enum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from rig.config.base import StrictModel

Seconds = Annotated[float, Field(ge=0, le=86_400)]
Number = bool | int | float | str


class Platform(enum.StrEnum):
    """Where the engines compute."""

    CPU = "cpu"
    CUDA = "cuda"


class EnginePatch(enum.StrEnum):
    """Fixes that can be put into the engines' processes; `rig patches list` explains each."""

    SCHEDULER_ZOMBIES = "scheduler_zombies"
    SCHEDULER_GUARD_ONLY = "scheduler_guard_only"
    UPDATE_FROM_OUTPUT_MISSING_ROW = "update_from_output_missing_row"
    MOONCAKE_STORE_UNFINISHED = "mooncake_store_unfinished"
    MORIIO_ASYNC_READ = "moriio_async_read"
    KV_FINISHED_FOR_FREED_REQUEST = "kv_finished_for_freed_request"


class EngineBug(enum.StrEnum):
    """Published faults that can be put back into the engines' processes; `rig bugs list` explains each."""

    ZOMBIE_IN_RUNNING = "zombie_in_running"
    ABORTED_LEFT_WAITING = "aborted_left_waiting"
    SLOT_LOST_ON_ABORT = "slot_lost_on_abort"
    LATE_APPEND_REVIVES_SESSION = "late_append_revives_session"
    STAGE_BRIDGE_EXCEPTION_KILLS_ALL = "stage_bridge_exception_kills_all"
    TERMINAL_CHUNK_NEVER_SENT = "terminal_chunk_never_sent"
    SHM_CHUNK_LEAKED_ON_ABORT = "shm_chunk_leaked_on_abort"
    SENDER_STATE_LEAKED_ON_ABORT = "sender_state_leaked_on_abort"
    OPEN_CANCELLED_LEAKS_SLOT = "open_cancelled_leaks_slot"
    STEP_NEVER_RETURNS = "step_never_returns"


def is_bug_file(name: str) -> bool:
    """Whether a bug is named by the file that holds it."""
    return name.endswith(".py")


def whole_bug(name: str, folder: Path = Path()) -> str:
    """A bug that is a file by its whole path, where it lies in `folder`: the server's processes run in another one."""
    return str((folder / name).resolve()) if is_bug_file(name) else name


def _known_bug(name: str) -> str:
    if not is_bug_file(name) and name not in list(EngineBug):
        known = {"expected": ", ".join(EngineBug)}
        raise PydanticCustomError("no_such_bug", "there is no such bug, and it is no .py file", known)
    if "," in name:
        raise ValueError("a comma in the name of the file would part it in two")
    return name


class TinyModel(StrictModel):
    """A tiny seeded checkpoint, written on first use: proves engine behaviour, not voice quality or speed."""

    kind: Literal["tiny"]
    seed: Annotated[int, Field(ge=0, description="seed of the weights")] = 0
    reply_s: Annotated[float, Field(gt=0, le=60, description="mean length of a reply in seconds")] = 3.0


class ReleasedModel(StrictModel):
    """A released checkpoint: a Hugging Face name or a folder."""

    kind: Literal["released"]
    name: Annotated[str, Field(min_length=1, description="model name or folder")]


class Duplex(StrictModel):
    """The server's own session limits (vLLM-Omni `duplex_session`)."""

    max_sessions: Annotated[int, Field(ge=1, le=1024, description="sessions admitted at once")] = 4
    disconnect_grace_s: Annotated[Seconds, Field(description="how long a dropped session keeps its slot")] = 30.0
    reaper_interval_s: Annotated[Seconds, Field(gt=0, description="how often dropped sessions are collected")] = 5.0


class Stage(StrictModel):
    """Engine settings of one stage, named as in vLLM-Omni's deploy files."""

    max_num_seqs: Annotated[int, Field(ge=1)]
    max_num_batched_tokens: Annotated[int, Field(ge=1)]
    max_model_len: Annotated[int | None, Field(ge=1)] = None
    devices: str = "0"
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)]
    kv_cache_memory_bytes: Annotated[int | None, Field(ge=1)] = None
    enforce_eager: bool = False
    async_scheduling: bool | None = None
    dtype: str | None = None
    load_format: str | None = None
    tensor_parallel_size: Annotated[int | None, Field(ge=1)] = None
    enable_chunked_prefill: bool | None = None
    distributed_executor_backend: str | None = None
    interleave_mm_strings: bool | None = None
    media_io_kwargs: dict[str, dict[str, Number]] | None = None
    limit_mm_per_prompt: dict[str, int] | None = None
    default_sampling_params: dict[str, Number]
    extra: Annotated[
        dict[str, object], Field(default_factory=dict, description="any other engine argument, passed on as it is")
    ]


class Stages(StrictModel):
    """The three stages of MiniCPM-o 4.5."""

    thinker: Stage
    talker: Stage
    code2wav: Stage


class PipelineConfig(StrictModel):
    """One server."""

    question: Annotated[str, Field(min_length=10, description="what this pipeline is for, in one sentence")]
    hardware_label: Annotated[str, Field(min_length=1, description="figures compare only within one label")]
    platform: Platform
    model: Annotated[TinyModel | ReleasedModel, Field(discriminator="kind")]
    served_model_name: str = "minicpmo"
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535, description="0 takes a free port")] = 0
    ready_deadline_s: Annotated[Seconds, Field(description="from process start to a duplex session accepted")]
    stop_grace_s: Annotated[Seconds, Field(description="from SIGTERM to SIGKILL")] = 20.0
    memory_gib: Annotated[float, Field(ge=0, description="host memory that must be free before the start")]
    gpus: Annotated[int, Field(ge=0, description="GPUs that must be present")] = 0
    nice: Annotated[int, Field(ge=0, le=19, description="how much the server yields the cores to the callers")] = 0
    env: Annotated[dict[str, str], Field(default_factory=dict, description="environment of the server")]
    patches: Annotated[
        tuple[EnginePatch, ...],
        Field(description="fixes put into every process of the server (`rig patches list`); none by default"),
    ] = ()
    bugs: Annotated[
        tuple[Annotated[str, AfterValidator(_known_bug)], ...],
        Field(
            description="published faults put back into every process (`rig bugs list`, or a .py file); none by default"
        ),
    ] = ()
    recorder: Annotated[bool, Field(description="record what each engine's scheduler does (docs/recorder.md)")] = True
    duplex_session: Duplex = Duplex()
    connector: Annotated[dict[str, Number], Field(description="`extra` of the shared-memory connector")]
    stages: Stages
    schema_version: Literal[1] = 1


STAGE_NAMES: tuple[str, ...] = tuple(Stages.model_fields)
"""Stage names in the order of vLLM-Omni's stage ids 0, 1, 2."""


class ExternalServer(StrictModel):
    """A server somebody else runs: callers only, nothing is started, watched by pid, or stopped."""

    question: Annotated[str, Field(min_length=10)]
    hardware_label: Annotated[str, Field(min_length=1)]
    url: Annotated[str, Field(pattern=r"^wss?://", description="base URL, e.g. ws://127.0.0.1:8099")]
    served_model_name: str = "minicpmo"
    schema_version: Literal[1] = 1


class Golden(StrictModel):
    """How the golden server behaves: the truth that measures are held against. Times count on the server's clock."""

    seed: Annotated[int, Field(ge=0, lt=2**63, description="seed of replies, of faults and of session ids")] = 0
    reply_s: Annotated[float, Field(gt=0, le=600, description="mean length of a reply in seconds of sound")] = 3.0
    reply_spread: Annotated[
        float, Field(ge=0, le=0.9, description="replies are up to this share shorter or longer")
    ] = 0.3
    first_audio_ms: Annotated[int, Field(ge=0, le=600_000, description="from speech_stopped to the first audio")] = 600
    chunk_ms: Annotated[int, Field(ge=40, le=10_000, description="sound in one chunk, a multiple of 40 ms")] = 1_000
    pace_ms: Annotated[int, Field(ge=1, le=60_000, description="from one chunk to the next")] = 1_000
    cancel_ms: Annotated[int, Field(ge=0, le=60_000, description="from response.cancel to response.done")] = 15
    barge_in_ms: Annotated[int, Field(ge=0, le=60_000, description="from speech_started to response.done")] = 50
    silence_ms: Annotated[int, Field(ge=20, le=60_000, description="silence that ends an utterance")] = 500
    speech_ms: Annotated[int, Field(ge=20, le=60_000, description="sound that begins an utterance")] = 96
    idle_timeout_s: Annotated[Seconds, Field(gt=0, description="a connection that sends nothing so long is let go")] = (
        300.0
    )
    idle_ttl_s: Annotated[Seconds, Field(gt=0, description="a session without activity for so long expires")] = 300.0
    config_timeout_s: Annotated[Seconds, Field(gt=0, description="how long the first message may take")] = 10.0
    replay_ttl_s: Annotated[Seconds, Field(gt=0, description="how long events are kept for a resume")] = 60.0
    replay_max_bytes: Annotated[int, Field(ge=1, description="bytes of events kept for a resume, per session")] = (
        8 << 20
    )
    faults: Annotated[
        tuple[str, ...], Field(description="faults as for `rig serve golden --fault`: NAME[:key=value,...]")
    ] = ()

    @field_validator("chunk_ms")
    @classmethod
    def _whole_tokens(cls, value: int) -> int:
        if value % 40 != 0:
            raise ValueError("a token lasts 40 ms: give a multiple of 40")
        return value


class GoldenPipeline(StrictModel):
    """The golden server as a pipeline: a process that the rig starts, watches and stops like the real one."""

    question: Annotated[str, Field(min_length=10, description="what this pipeline is for, in one sentence")]
    hardware_label: Annotated[str, Field(min_length=1, description="figures compare only within one label")]
    golden: Golden
    served_model_name: str = "golden"
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535, description="0 takes a free port")] = 0
    ready_deadline_s: Annotated[Seconds, Field(description="from process start to a duplex session accepted")] = 30.0
    stop_grace_s: Annotated[Seconds, Field(description="from SIGTERM to SIGKILL")] = 10.0
    duplex_session: Duplex = Duplex()
    schema_version: Literal[1] = 1


def resolve_pipeline_path(run_file: Path, pipeline: Path) -> Path:
    """The pipeline file named by a run file, relative to that run file's folder."""
    return pipeline if pipeline.is_absolute() else (run_file.parent / pipeline).resolve()
