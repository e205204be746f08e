"""Lines that only a fault writes are recorded, once or a few times; ordinary lines are not."""

import re
from pathlib import Path

import pytest

from rig.clock import from_s
from rig.events import journal as journals
from rig.events.journal import Journal
from rig.events.types import LogSignature
from rig.pipeline.logs import LogLine, Source
from rig.watch.log_signatures import BURST, SIGNATURES, WINDOW_S, SignatureWatch, match

WORKER = Source("Worker", 7)
HEAD = "ERROR 11-30 04:29:43 [core.py:98] "


def recorded(folder: Path, lines: list[LogLine], *, expected: bool = False) -> list[LogSignature]:
    journal = Journal(folder, "rig", "rig")
    watch = SignatureWatch(journal, lambda pid: "thinker/worker" if pid == 7 else None, lambda: expected)
    for line in lines:
        watch.feed(line)
    journal.close()
    events, _ = journals.read(journal.path)
    return [event for event in events if isinstance(event, LogSignature)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("StageEngineCoreProc encountered a fatal error.", "engine_core_fatal"),
        ("StageEngineCoreProc failed to start.", "engine_core_fatal"),
        ("RuntimeError: Orchestrator died unexpectedly. See logs above.", "orchestrator_died"),
        ("[OmniEngine] Orchestrator thread crashed", "orchestrator_died"),
        ("[Orchestrator] Stage-0 replica-0 is dead; evicting it and failing its requests", "replica_dead"),
        ("Worker proc VllmWorker-0 died unexpectedly, shutting down executor.", "worker_died"),
        ("vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.", "engine_dead_error"),
        ("[Stage-2] Request r-1 timed out waiting for a chunk (stalled > 300s)", "chunk_timeout"),
        ("RuntimeError: Invalid request status: FINISHED_ABORTED", "invalid_request_status"),
        ("[Orchestrator] Stage-1 replica-0 processing failed", "stage_failed"),
        ("starlette.websockets.WebSocketDisconnected: WebSocket is not connected.", "read_after_disconnect"),
        ("torch.AcceleratorError: CUDA error: an illegal memory access", "cuda_error"),
        ("Fatal Python error: Segmentation fault", "native_crash"),
    ],
)
def test_a_fault_has_a_name(text: str, name: str) -> None:
    assert match(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "INFO 11-30 04:29:55 [api_utils.py:347] vLLM server version 0.30.0, serving model /model",
        "INFO 11-30 05:15:31 [multiproc_executor.py:836] Parent process exited, terminating worker queues",
        "INFO 11-30 05:15:31 [launcher.py:129] [shutdown] API server: shutdown triggered",
        "WARNING 11-30 04:29:55 [system_utils.py:299] This can cause fd limit errors like `OSError`",
        "INFO 11-30 04:29:56 [omni_engine_base.py:312] [OmniEngine] Launching Orchestrator thread",
        "UserWarning: resource_tracker: There appear to be 3 leaked shared_memory objects to clean up",
    ],
)
def test_lines_of_a_healthy_server_have_none(text: str) -> None:
    assert match(text) is None


def test_every_signature_says_what_it_means_and_where_it_comes_from() -> None:
    names = [signature.name for signature in SIGNATURES]
    assert len(set(names)) == len(names)
    assert all(signature.meaning and signature.source for signature in SIGNATURES)
    assert all(re.fullmatch(r"[a-z_]+", name) for name in names)


def test_a_traceback_is_one_event_with_its_exception(tmp_path: Path) -> None:
    texts = ["Traceback (most recent call last):", '  File "x.py", line 1, in f', "KeyError: 'req-1'"]
    (event,) = recorded(tmp_path, [LogLine(5, WORKER, HEAD + text) for text in texts])
    assert (event.signature, event.stage, event.line) == ("traceback", "thinker/worker", "KeyError: 'req-1'")
    assert event.t_ns == 5


def test_a_line_after_the_stop_was_asked_for_is_expected(tmp_path: Path) -> None:
    (event,) = recorded(tmp_path, [LogLine(5, None, "EngineDeadError")], expected=True)
    assert event.expected
    assert event.stage == "api_server"


def test_a_storm_is_recorded_a_few_times_and_counted(tmp_path: Path) -> None:
    storm = [LogLine(number, WORKER, "EngineDeadError") for number in range(1, 1001)]
    later = LogLine(from_s(WINDOW_S) + 2, WORKER, "EngineDeadError")
    events = recorded(tmp_path, [*storm, later])
    assert len(events) == BURST + 1
    assert (events[-1].line, events[-1].left_out) == ("EngineDeadError", 1000 - BURST)


def test_a_storm_of_one_kind_does_not_hide_another(tmp_path: Path) -> None:
    storm = [LogLine(number, WORKER, "EngineDeadError") for number in range(1, 100)]
    events = recorded(tmp_path, [*storm, LogLine(100, WORKER, "CUDA error: unspecified launch failure")])
    assert events[-1].signature == "cuda_error"
