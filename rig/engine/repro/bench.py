"""One released scheduler on a bench: real configuration, real queues, real block pool, and no model.

The bench plays the part of vLLM's engine core: it adds requests, schedules, answers for the worker, aborts, and hears
what clients are told. Every call is said aloud, so that a reproduction reads as the sequence of calls that it is.
"""

import enum
import importlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vllm.config import VllmConfig
    from vllm.v1.core.sched.output import SchedulerOutput
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.engine import EngineCoreOutputs
    from vllm.v1.kv_cache_interface import KVCacheConfig
    from vllm.v1.outputs import KVConnectorOutput, ModelRunnerOutput
    from vllm.v1.request import Request

BLOCK = 16
MODEL_LEN = 512
STOP, WORD = 9, 5
"""The token that ends a reply, and any other token."""

STEPS_TO_SETTLE = 400


class Kind(enum.StrEnum):
    """The scheduler classes of vLLM and vLLM-Omni 0.30.0."""

    SCHEDULER = "Scheduler"
    ASYNC = "AsyncScheduler"
    OMNI_AR = "OmniARScheduler"
    OMNI_AR_ASYNC = "OmniARAsyncScheduler"
    OMNI_GENERATION = "OmniGenerationScheduler"

    @property
    def is_omni(self) -> bool:
        """Whether vLLM-Omni defines it."""
        return self.value.startswith("Omni")

    @property
    def is_async(self) -> bool:
        """Whether a step is scheduled while the one before it still runs."""
        return "Async" in self.value


@dataclass(frozen=True)
class Setup:
    """A scheduler and its limits.

    `connector` is vLLM's `kv_transfer_config`, as keyword arguments. `stage` is what vLLM-Omni's model configuration
    says of the stage; as it is, one without a connector to its neighbours. `second_runner` makes the steps for vLLM's
    second model runner, which it chooses by itself only where Triton is installed.
    """

    kind: Kind = Kind.SCHEDULER
    blocks: int = 200
    max_num_seqs: int = 8
    token_budget: int = 512
    connector: Mapping[str, object] | None = None
    second_runner: bool = False
    stage: Mapping[str, object] = field(default_factory=lambda: {"stage_id": 0, "async_chunk": False})


@dataclass
class Books:
    """What a scheduler holds at one moment."""

    running: list[str]
    waiting: list[str]
    skipped_waiting: list[str]
    tracked: list[str]
    blocks_in_use: int

    def __str__(self) -> str:
        return (
            f"running {self.running}, waiting {self.waiting}, skipped_waiting {self.skipped_waiting}, "
            f"tracked {self.tracked}, blocks in use {self.blocks_in_use}"
        )

    @property
    def empty(self) -> bool:
        """Whether nothing is left: no request, no slot, no block."""
        return self == Books([], [], [], [], 0)


@dataclass(frozen=True)
class Step:
    """A step in flight, and the requests that get a token in it."""

    output: "SchedulerOutput"
    sampling: frozenset[str]


@dataclass
class Client:
    """What one request's client was told."""

    tokens: list[int] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    hung_up: bool = False


class Bench:
    """A scheduler, the steps that are in flight, and the clients."""

    def __init__(self, setup: Setup, say: Callable[[str], None] = lambda _: None) -> None:
        self.setup = setup
        self.clients: dict[str, Client] = {}
        self.requests: dict[str, Request] = {}
        self.in_flight: list[Step] = []
        self.worker: Callable[[SchedulerOutput], KVConnectorOutput | None] = lambda _: None
        self._say = say
        _set_environment()
        self.scheduler = _scheduler(setup)
        pool = self.scheduler.kv_cache_manager.block_pool
        self._free_at_start = pool.get_num_free_blocks()

    def note(self, text: str) -> None:
        """Say something that is no call."""
        self._say(f"     {text}")

    def add(
        self,
        request_id: str,
        *,
        prompt: int = 20,
        max_tokens: int = 3,
        resumable: bool = False,
        kv_transfer_params: dict[str, object] | None = None,
    ) -> "Request":
        """`add_request`, the first time or with a session's next input."""
        self._say(f"add_request({request_id!r}, {prompt} tokens{', resumable' if resumable else ''})")
        request = _request(self.setup.kind, request_id, prompt, max_tokens, resumable)
        request.kv_transfer_params = kv_transfer_params
        if request_id not in self.scheduler.requests:
            self.clients[request_id] = Client()
            self.requests[request_id] = request
        self.scheduler.add_request(request)
        return request

    def schedule(self) -> "SchedulerOutput":
        """`schedule`; the step is in flight until `update`."""
        self._say("schedule()")
        output = self.scheduler.schedule()
        self.in_flight.append(Step(output, self._sampling(output)))
        self.note(f"scheduled {output.num_scheduled_tokens}")
        return output

    def update(
        self,
        *,
        tokens: Mapping[str, int] | None = None,
        without_rows: Iterable[str] = (),
        kv: "KVConnectorOutput | None" = None,
    ) -> dict[int, "EngineCoreOutputs"]:
        """`update_from_output` for the oldest step in flight.

        `tokens` says what the model samples for a request (any other: WORD), `without_rows` which requests the worker
        leaves out of its output.
        """
        step = self.in_flight.pop(0)
        output = step.output
        answer = _answer(step, tokens or {}, set(without_rows))
        answer.kv_connector_output = kv if kv is not None else self.worker(output)
        self._say(f"update_from_output(rows for {answer.req_ids})")
        told: dict[int, EngineCoreOutputs] = self.scheduler.update_from_output(output, answer)
        self._hear(told)
        return told

    def step(self, **answer: object) -> None:
        """`schedule` and `update_from_output`."""
        self.schedule()
        self.update(**answer)  # type: ignore[arg-type]

    def abort(self, request_id: str) -> None:
        """`finish_requests` as the engine core calls it when a client has gone."""
        from vllm.v1.request import RequestStatus

        self._say(f"finish_requests({request_id!r}, FINISHED_ABORTED)")
        self.clients[request_id].hung_up = True
        self.scheduler.finish_requests(request_id, RequestStatus.FINISHED_ABORTED)

    def reset_prefix_cache(self) -> None:
        """`reset_prefix_cache` as the server's endpoint calls it: every running request is preempted."""
        self._say("reset_prefix_cache(reset_running_requests=True)")
        self.scheduler.reset_prefix_cache(reset_running_requests=True)

    def quiet(self) -> None:
        """From here on say nothing: what follows is the clearing up."""
        self._say = lambda _: None

    def outside(self, what: str) -> None:
        """Announce a step that no public call makes."""
        self._say(f"OUTSIDE: {what}")

    def settle(self) -> Books:
        """Answer what is in flight and let everybody finish; the books at the end."""
        while self.in_flight:
            self.update()
        for _ in range(STEPS_TO_SETTLE):
            if not self.scheduler.has_requests():
                break
            self.step()
        return self.books()

    def books(self) -> Books:
        """The books now."""
        scheduler = self.scheduler
        free = scheduler.kv_cache_manager.block_pool.get_num_free_blocks()
        return Books(
            running=[request.request_id for request in scheduler.running],
            waiting=[request.request_id for request in scheduler.waiting],
            skipped_waiting=[request.request_id for request in scheduler.skipped_waiting],
            tracked=sorted(scheduler.requests),
            blocks_in_use=self._free_at_start - free,
        )

    def untold(self) -> list[str]:
        """Clients that are still on the line and have not been told that their request ended."""
        return sorted(name for name, client in self.clients.items() if not client.hung_up and not client.ends)

    def wrongs(self) -> list[str]:
        """What is wrong once everybody has had time to finish: one line each."""
        books = self.settle()
        found = [] if books.empty else [f"left behind: {books}"]
        found += [f"the client of {name} was never told that its request ended" for name in self.untold()]
        found += [
            f"the client of {name} was told {len(client.ends)} times that its request ended"
            for name, client in self.clients.items()
            if len(client.ends) > 1 and not client.hung_up
        ]
        return found

    def close(self) -> None:
        """Let go of what the scheduler's connector opened; safe after an exception of the engine."""
        self.scheduler.shutdown()
        client = getattr(getattr(self.scheduler.connector, "connector_scheduler", None), "client", None)
        if client is not None:
            # Mooncake's connector leaves its socket to the garbage collector, where closing it can wait for ever.
            client.executor.shutdown()
            client.ctx.destroy(linger=0)

    def _sampling(self, output: "SchedulerOutput") -> frozenset[str]:
        """The requests of a step that get a token: those that it computes to their end."""
        requests = {request_id: self.requests[request_id] for request_id in output.num_scheduled_tokens}
        return frozenset(request_id for request_id, request in requests.items() if not request.is_prefill_chunk)

    def _hear(self, told: Mapping[int, "EngineCoreOutputs"]) -> None:
        for outputs in told.values():
            for output in outputs.outputs:
                client = self.clients.setdefault(output.request_id, Client())
                client.tokens.extend(output.new_token_ids)
                if output.finish_reason is not None:
                    client.ends.append(str(output.finish_reason))
                    self.note(f"client of {output.request_id} is told: {output.finish_reason}")


def _answer(step: Step, tokens: Mapping[str, int], without: set[str]) -> "ModelRunnerOutput":
    from vllm.v1.outputs import ModelRunnerOutput

    ids = [request_id for request_id in step.output.num_scheduled_tokens if request_id not in without]
    return ModelRunnerOutput(
        req_ids=ids,
        req_id_to_index={request_id: index for index, request_id in enumerate(ids)},
        sampled_token_ids=[[tokens.get(request_id, WORD)] if request_id in step.sampling else [] for request_id in ids],
    )


def _set_environment() -> None:
    """Nothing is looked up in the network, no address of this machine is asked for; vLLM's start-up talk stays away."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("VLLM_HOST_IP", "127.0.0.1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")


def _scheduler(setup: Setup) -> "Scheduler":
    from vllm.v1.structured_output import StructuredOutputManager

    config = _config(setup)
    scheduler: Scheduler = _class_of(setup.kind)(
        vllm_config=config,
        kv_cache_config=_kv_cache(setup.blocks),
        structured_output_manager=StructuredOutputManager(config),
        block_size=BLOCK,
        log_stats=False,
    )
    if setup.second_runner:
        scheduler.use_v2_model_runner = True
    return scheduler


def _class_of(kind: Kind) -> "Callable[..., Scheduler]":
    modules = {
        Kind.SCHEDULER: "vllm.v1.core.sched.scheduler",
        Kind.ASYNC: "vllm.v1.core.sched.async_scheduler",
        Kind.OMNI_AR: "vllm_omni.core.sched.omni_ar_scheduler",
        Kind.OMNI_AR_ASYNC: "vllm_omni.core.sched.omni_ar_scheduler",
        Kind.OMNI_GENERATION: "vllm_omni.core.sched.omni_generation_scheduler",
    }
    module = importlib.import_module(modules[kind])
    found: Callable[..., Scheduler] = getattr(module, kind.value)
    return found


_configs: "dict[str, VllmConfig]" = {}


def _config(setup: Setup) -> "VllmConfig":
    """vLLM's own configuration for a bench, made once: making one takes longer than playing a reproduction."""
    key = repr(setup)
    if key not in _configs:
        _configs[key] = _new_config(setup)
    return _configs[key]


def _new_config(setup: Setup) -> "VllmConfig":
    """A small model, of which only the numbers are ever looked at."""
    from vllm.config import (
        CacheConfig,
        DeviceConfig,
        KVTransferConfig,
        ModelConfig,
        SchedulerConfig,
        VllmConfig,
    )

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(_MODEL))
        model = ModelConfig(model=folder, skip_tokenizer_init=True, dtype="float32", max_model_len=MODEL_LEN)
    if setup.kind.is_omni:
        vars(model).update(setup.stage)
    cache = CacheConfig(block_size=BLOCK, enable_prefix_caching=False)
    cache.num_gpu_blocks = setup.blocks
    return VllmConfig(
        model_config=model,
        scheduler_config=SchedulerConfig(
            max_num_seqs=setup.max_num_seqs,
            max_num_batched_tokens=setup.token_budget,
            max_model_len=MODEL_LEN,
            is_encoder_decoder=False,
            enable_chunked_prefill=True,
            async_scheduling=setup.kind.is_async,
        ),
        cache_config=cache,
        device_config=DeviceConfig("cpu"),
        kv_transfer_config=None if setup.connector is None else KVTransferConfig(**setup.connector),
    )


_MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "max_position_embeddings": 1024,
    "rms_norm_eps": 1e-6,
}


def _kv_cache(blocks: int) -> "KVCacheConfig":
    import torch
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec

    layers = FullAttentionSpec(block_size=BLOCK, num_kv_heads=2, head_size=32, dtype=torch.float32)
    return KVCacheConfig(num_blocks=blocks, kv_cache_tensors=[], kv_cache_groups=[KVCacheGroupSpec(["layer"], layers)])


def _request(kind: Kind, request_id: str, prompt: int, max_tokens: int, resumable: bool) -> "Request":
    from vllm.sampling_params import SamplingParams
    from vllm.v1.request import Request

    made = Request
    if kind.is_omni:
        from vllm_omni.request import OmniRequest

        made = OmniRequest
    request: Request = made(
        request_id=request_id,
        prompt_token_ids=list(range(100, 100 + prompt)),
        sampling_params=SamplingParams(max_tokens=max_tokens, stop_token_ids=[STOP]),
        pooling_params=None,
        resumable=resumable,
    )
    return request
