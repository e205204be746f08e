"""Lines that only a fault writes, found in the server's log as it grows.

The table is data: a name, what to look for, what it means, and where vLLM 0.30.0 or vLLM-Omni 0.30.0 writes it. Whether
a line is a fault is for the checks to say. A storm of one signature is recorded at most BURST times in WINDOW_S; the
next event after that tells how many were left out.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from rig.clock import from_s
from rig.events.journal import Journal
from rig.events.types import LogSignature
from rig.pipeline.logs import LogLine, Source
from rig.pipeline.tracebacks import Tracebacks, without_head
from rig.watch import labels

LINE_LIMIT = 400
BURST = 5
WINDOW_S = 10.0


@dataclass(frozen=True)
class Signature:
    """One kind of line."""

    name: str
    pattern: re.Pattern[str]
    meaning: str
    source: str


def _signature(name: str, pattern: str, meaning: str, source: str) -> Signature:
    return Signature(name, re.compile(pattern), meaning, source)


SIGNATURES: tuple[Signature, ...] = (
    _signature(
        "engine_core_fatal",
        r"encountered a fatal error|EngineCore failed|failed to start\.$",
        "an engine core ends on an exception",
        "vllm_omni/engine/stage_engine_core_proc.py, vllm/v1/engine/core.py",
    ),
    _signature(
        "orchestrator_died",
        r"Orchestrator died|Orchestrator thread (?:crashed|died)|Fatal error in orchestrator",
        "the thread that moves requests between the stages is gone",
        "vllm_omni/engine/omni_engine_base.py, vllm_omni/engine/orchestrator.py",
    ),
    _signature(
        "replica_dead",
        r"replica-\S+ is dead|has no live replica|Stage-\d+ engine core is dead",
        "the orchestrator found the engine core of a stage dead",
        "vllm_omni/engine/orchestrator.py, vllm_omni/engine/stage_engine_core_client.py",
    ),
    _signature(
        "worker_died",
        r"[Ww]orker proc\S* .*died|WorkerProc hit an exception|WorkerProc failed to start",
        "a worker process of a stage is gone or failed",
        "vllm/v1/executor/multiproc_executor.py",
    ),
    _signature(
        "engine_dead_error",
        r"EngineDeadError",
        "somebody asked an engine core that is dead",
        "vllm/v1/engine/exceptions.py",
    ),
    _signature(
        "chunk_timeout",
        r"timed out waiting for a chunk",
        "a stage waited in vain for the output of the stage before it",
        "vllm_omni/distributed/omni_connectors/transfer_adapter/chunk_transfer_adapter.py",
    ),
    _signature(
        "chunk_send_gave_up",
        r"chunk send gave up",
        "a stage could not hand its output to the next one",
        "vllm_omni/core/sched/omni_scheduler_mixin.py",
    ),
    _signature(
        "invalid_request_status",
        r"Invalid request status",
        "the scheduler holds a request in a state that must not be there",
        "vllm/v1/core/sched/scheduler.py",
    ),
    _signature(
        "read_after_disconnect",
        r"WebSocketDisconnected: WebSocket is not connected",
        "the API server read from a connection that its own send had found closed, and ended that session",
        "starlette/websockets.py, from _read_loop in vllm_omni/entrypoints/duplex/serving.py",
    ),
    _signature(
        "stage_failed",
        r"Stage-\S+ replica-\S+ (?:processing|reader) failed|failed at stage-\S+ replica-\S+",
        "a stage failed a request with an exception",
        "vllm_omni/engine/orchestrator.py",
    ),
    _signature(
        "cuda_error",
        r"CUDA error|CUDA out of memory|device-side assert|NCCL error",
        "the GPU or its driver reported an error",
        "torch",
    ),
    _signature(
        "native_crash",
        r"^Fatal Python error|Segmentation fault|^\*\*\* .*(?:double free|corruption)|terminate called",
        "compiled code crashed",
        "CPython's faulthandler, the C and C++ runtimes",
    ),
)
"""Looked through in this order; the first that fits names the line."""

TRACEBACK = "traceback"
"""Name of a traceback: one event with its last line, unless that line has a name of its own in the table."""


def match(text: str) -> str | None:
    """The name of the signature that a line shows, None for an ordinary line."""
    return next((signature.name for signature in SIGNATURES if signature.pattern.search(text)), None)


class _Limit:
    """How often one signature was recorded in the current window."""

    def __init__(self) -> None:
        self.window_ns = 0
        self.recorded = 0
        self.left_out = 0


class SignatureWatch:
    """Takes every log line (`feed`, on the log's thread) and records those with a signature."""

    def __init__(self, journal: Journal, label_of: Callable[[int], str | None], expected: Callable[[], bool]) -> None:
        """`label_of` names the process with a pid; `expected` tells whether the rig asked the server to
        stop."""
        self._journal = journal
        self._label_of = label_of
        self._expected = expected
        self._tracebacks = Tracebacks()
        self._limits: dict[str, _Limit] = {}

    def feed(self, line: LogLine) -> None:
        """Look at one line."""
        exception = self._tracebacks.feed(line.source, line.text)
        name = match(line.text)
        if name is None and exception is not None:
            name = TRACEBACK
        if name is None:
            return
        limit = self._limits.setdefault(name, _Limit())
        if line.t_ns - limit.window_ns > from_s(WINDOW_S):
            limit.window_ns, limit.recorded = line.t_ns, 0
        if limit.recorded >= BURST:
            limit.left_out += 1
            return
        limit.recorded += 1
        self._record(name, line, limit)

    def _record(self, name: str, line: LogLine, limit: _Limit) -> None:
        left_out, limit.left_out = limit.left_out, 0
        self._journal.record(
            LogSignature,
            t_ns=line.t_ns,
            signature=name,
            stage=self._stage(line.source),
            line=without_head(line.text).strip()[:LINE_LIMIT],
            expected=self._expected(),
            left_out=left_out,
        )

    def _stage(self, source: Source | None) -> str:
        if source is None:
            return labels.API_SERVER
        known = self._label_of(source.pid)
        return labels.label_of_log(source.name) if known is None else known
