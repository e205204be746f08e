"""The server does not stop when it is asked to."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault


@dataclass
class Stay(Fault):
    """SIGTERM and SIGINT are heard and nothing follows: only SIGKILL ends the process."""

    times: int = 1

    def stays(self) -> bool:
        """Whether it goes on."""
        return self.fires()
