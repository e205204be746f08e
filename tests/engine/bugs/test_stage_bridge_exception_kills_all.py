"""An exception of a hand-over leaves the orchestrator's loop, where the release keeps it to its session."""

import asyncio
from types import SimpleNamespace

import pytest

pytest.importorskip("vllm_omni")

from vllm_omni.engine.duplex_orchestrator import DuplexOrchestrator
from vllm_omni.engine.stage_engine_core_client import StageEngineCoreClientBase

from rig.engine.bugs.stage_bridge_exception_kills_all import WORDS
from rig.engine.patches.registry import patched

pytestmark = pytest.mark.timeout(300)  # the first one imports vLLM

BUG = ["stage_bridge_exception_kills_all"]
FIRST, LATER = "duplex-s.YQ.e.0.r.stage0", "duplex-s.YQ.e.1.r.stage0"


def handed_over(request_id: str) -> object:
    """The Talker's input from one output of the Thinker, made by the client's own code with a bridge of one line."""
    client = object.__new__(StageEngineCoreClientBase)
    client.stage_id = 1
    client.engine_input_source = [0]
    client.requires_multimodal_data = False
    client.custom_process_input_func = lambda source_outputs, prompt, multimodal: ["made"]
    return client.process_engine_inputs([SimpleNamespace(request_id=request_id)], None)


def absorbed() -> bool:
    """Whether the failure of one session's hand-over ends there."""
    orchestrator = object.__new__(DuplexOrchestrator)
    cleaned: list[str] = []

    async def clean(request_ids: list[str], **_: object) -> None:
        cleaned.extend(request_ids)

    orchestrator.plugin = SimpleNamespace(
        capabilities=lambda max_sessions: SimpleNamespace(supports_core_resumable_request=True)
    )
    orchestrator.duplex_session_config = SimpleNamespace(max_sessions=4)
    orchestrator.session_manager = SimpleNamespace(runner_for_request_id=lambda _: None)
    orchestrator._cfg_tracker = SimpleNamespace(cleanup_parent=lambda _: [])
    orchestrator._cleanup_request_ids = clean
    failing = orchestrator._handle_forward_failure(LATER, 1, SimpleNamespace(session_owned=True), ValueError(WORDS))
    answer = asyncio.run(failing)
    assert isinstance(answer, bool)
    assert answer is bool(cleaned)
    return answer


def test_the_first_hand_over_after_a_cut_fails_and_the_failure_is_everybodys() -> None:
    with patched([], BUG):
        assert handed_over(FIRST) == ["made"]
        with pytest.raises(ValueError, match=WORDS):
            handed_over(LATER)
        assert absorbed() is False


def test_the_released_engine_hands_over_and_keeps_a_failure_to_its_session() -> None:
    assert handed_over(LATER) == ["made"]
    assert absorbed() is True
