"""A server that somebody else runs: the rig waits for it, and neither starts, watches nor stops a process."""

import asyncio

from rig.clock import monotonic_ns
from rig.config.pipeline import ExternalServer
from rig.errors import PipelineError
from rig.events.journal import Journal
from rig.events.types import PipelineReady
from rig.pipeline import probe

READY_DEADLINE_S = 30.0


class ExternalPipeline:
    """The same calls as a local pipeline, for a URL."""

    def __init__(self, config: ExternalServer, journal: Journal) -> None:
        self.config = config
        self.url = config.url.rstrip("/")
        self._journal = journal

    async def wait_ready(self) -> None:
        """Return when the server takes duplex sessions; PipelineError when it does not in
        READY_DEADLINE_S."""
        begin_ns = monotonic_ns()
        try:
            async with asyncio.timeout(READY_DEADLINE_S):
                await probe.until_ready(self.url)
        except TimeoutError as error:
            raise PipelineError(f"{self.url} was not ready within {READY_DEADLINE_S:g} s") from error
        self._journal.record(PipelineReady, boot_ns=monotonic_ns() - begin_ns)
