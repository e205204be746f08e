"""The server takes its time until it is ready."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault


@dataclass
class SlowStart(Fault):
    """Nobody listens on the port for `for_s` seconds after the start."""

    for_s: float = 5.0

    def start_delay_s(self) -> float:
        """How long nobody listens."""
        return self.for_s
