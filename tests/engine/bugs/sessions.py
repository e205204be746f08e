"""vLLM-Omni's own session manager and the model's own plugin, with stages that only take note of what is asked."""

import asyncio
from dataclasses import dataclass, field

from vllm_omni.config.stage_config import DuplexSessionRuntimeConfig
from vllm_omni.engine.duplex.config import DuplexSessionConfig
from vllm_omni.engine.duplex.contracts import DuplexStagePort
from vllm_omni.engine.duplex.messages import CloseDuplexSessionMessage, OpenDuplexSessionMessage
from vllm_omni.engine.duplex.session.manager import DuplexSessionManager
from vllm_omni.model_executor.models.minicpmo_4_5.duplex.plugin import MiniCPMO45DuplexPlugin

MAX_SESSIONS = 2
VOICE = "data:audio/wav;base64,"


class Stages(DuplexStagePort):  # type: ignore[misc]  # the engine is not looked into
    """Three stages without engines."""

    stage_count = 3

    def sampling_defaults(self) -> tuple[object, ...]:
        return (None, None, None)

    def ensure_request(self, context: object) -> None:
        del context

    async def submit(self, submission: object) -> object:
        raise AssertionError(f"nothing is to be submitted here: {submission}")

    async def cleanup(self, request_ids: list[str], *, abort: bool = False) -> None:
        del request_ids, abort

    async def abort_requests(self, request_ids: list[str]) -> None:
        del request_ids


class Plugin(MiniCPMO45DuplexPlugin):  # type: ignore[misc]
    """The model's plugin, whose look at the checkpoint takes until it is let go.

    As the released one it takes the reference voice out of the config, and opens no session without one.
    """

    def __init__(self) -> None:
        super().__init__(lambda *_, **__: b"")
        self.asked = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def prepare_runtime_config(self, config: DuplexSessionConfig, *, model_config: object) -> dict[str, object]:
        del model_config
        if config.ref_audio is None:
            raise ValueError("duplex audio output requires ref_audio")
        config.ref_audio = None
        self.asked.set()
        await self.go_on.wait()
        return {}


@dataclass
class Desk:
    """A manager and those who ask it."""

    plugin: Plugin = field(default_factory=Plugin)
    results: "asyncio.Queue[object]" = field(default_factory=asyncio.Queue)
    events: "asyncio.Queue[object]" = field(default_factory=asyncio.Queue)

    def __post_init__(self) -> None:
        self.manager = DuplexSessionManager(
            plugin=self.plugin,
            stage_port=Stages(),
            output_sink=self.events,
            result_sink=self.results,
            runtime_config=DuplexSessionRuntimeConfig(max_sessions=MAX_SESSIONS),
            model_config=None,
        )

    async def open(self, name: str) -> "asyncio.Task[None]":
        """Begin to open a session; the task is done when it is open or refused."""
        config = DuplexSessionConfig(ref_audio=VOICE)
        message = OpenDuplexSessionMessage(control_id=name, session_id=name, session_config=config)
        self.plugin.asked.clear()
        return asyncio.create_task(self.manager.open(message))

    async def opened(self, name: str) -> object:
        """Open a session; what the caller is told."""
        await (await self.open(name))
        return self.results.get_nowait()

    async def close(self, name: str) -> None:
        await self.manager.close(CloseDuplexSessionMessage(control_id=f"close-{name}", session_id=name))
        self.results.get_nowait()
