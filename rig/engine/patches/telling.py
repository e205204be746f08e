"""How a patch or a bug tells what it did: a counter that never stops, and a warning at most every ten seconds."""

import logging
import time
from collections.abc import Callable

from rig.engine.patches.patch import Kind

EVERY_S = 10.0


class Teller:
    """The counter and the voice of one patch or bug in one process."""

    def __init__(self, patch: str, clock: Callable[[], float] = time.monotonic, kind: Kind = Kind.PATCH) -> None:
        self.patch = patch
        self._kind = kind
        self.count = 0
        self._clock = clock
        self._silent = 0
        self._next_s = 0.0
        # Below "vllm", whose handlers are the only ones that an engine process sets up.
        self._log = logging.getLogger("vllm.rig.patches")

    def tell(self, what: str) -> None:
        """Count one case; write it down unless the last line is less than ten seconds old."""
        self.count += 1
        now_s = self._clock()
        if now_s < self._next_s:
            self._silent += 1
            return
        left_out = f", {self._silent} not shown" if self._silent else ""
        self._log.warning("rig %s %s: %s (case %d%s)", self._kind, self.patch, what, self.count, left_out)
        self._silent = 0
        self._next_s = now_s + EVERY_S
