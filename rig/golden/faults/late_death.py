"""The server dies when the load is long over: a rig that stops looking with the last caller does not see it."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault


@dataclass
class LateDeath(Fault):
    """Exit with `status`, `delay_s` after the last connection has gone, unless a new one comes."""

    times: int = 1
    delay_s: float = 1.0
    status: int = 1

    def idle(self) -> None:
        """Nobody is connected any more."""
        self.plant.when_idle_for(self.delay_s, self._die)

    def _die(self) -> None:
        if self.fires():
            self.plant.exit(self.status)
