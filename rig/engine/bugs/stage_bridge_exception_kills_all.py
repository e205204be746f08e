"""One session's input cannot be handed to the next stage: the orchestrator ends, and with it every session."""

import re
from typing import TYPE_CHECKING

from rig.engine.patches.patch import Bug, Change, Kind
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm_omni.engine.duplex_orchestrator import DuplexOrchestrator
    from vllm_omni.engine.stage_engine_core_client import StageEngineCoreClientBase

WORDS = "No latent or hidden_states found in thinker output"

LATER_EPOCH = re.compile(r"^duplex-s\..*\.e\.[1-9]\d*\.")
"""The id of a stage request made after its session's first reply was cut: each cut begins an epoch."""

teller = Teller("stage_bridge_exception_kills_all", kind=Kind.BUG)


def apply() -> None:
    """Fail every hand-over after a cut, and do not keep the failure to its request."""
    from vllm_omni.engine.duplex_orchestrator import DuplexOrchestrator
    from vllm_omni.engine.stage_engine_core_client import StageEngineCoreClientBase

    wrap(StageEngineCoreClientBase, "process_engine_inputs", _failing)
    wrap(DuplexOrchestrator, "_handle_forward_failure", _passing_on)


def _failing(original: Method) -> Method:
    def process_engine_inputs(
        self: "StageEngineCoreClientBase", source_outputs: list[object], *args: object, **kwargs: object
    ) -> object:
        for output in source_outputs:
            request_id = str(getattr(output, "request_id", ""))
            if LATER_EPOCH.match(request_id):
                teller.tell(f"the input of {request_id} for stage {self.stage_id} cannot be made")
                raise ValueError(WORDS)
        return original(self, source_outputs, *args, **kwargs)

    return process_engine_inputs


def _passing_on(_: Method) -> Method:
    """That a failure ends its own request only came with the fix."""

    async def _handle_forward_failure(self: "DuplexOrchestrator", *args: object, **kwargs: object) -> bool:
        return False

    return _handle_forward_failure


BUG = Bug(
    name="stage_bridge_exception_kills_all",
    summary="an exception while one session's output is handed to the next stage ends the orchestrator for all",
    explanation="""\
The orchestrator turns the output of one stage into the input of the next (`llm2tts` between Thinker and Talker). An
exception there was not kept to its request: it left the loop of the orchestrator, and every session was lost. In the
report the exception came from a turn in which the Thinker had nothing to say; the release knows that case, so that here
the same exception comes with every hand-over of a session whose reply was cut before. Acts in the API server.""",
    provoked_by="a barge-in, and then speaking on in the same session",
    upstream=("vllm-omni#6099", "vllm-omni#6170"),
    versions={"vllm-omni": "0.30.0"},
    changes=(
        Change(
            "vllm_omni.engine.stage_engine_core_client:StageEngineCoreClientBase.process_engine_inputs",
            "9d6db0258d6837cd004fdab610193a1b9e742a07d24f2676154f794b0423240a",
        ),
        Change(
            "vllm_omni.engine.duplex_orchestrator:DuplexOrchestrator._handle_forward_failure",
            "127725b8b8a669a1f168bda8bb3f5187ce1b17ae4925707ad37789d280024165",
        ),
    ),
    apply=apply,
)
