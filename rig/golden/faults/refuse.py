"""A session is refused although a slot is free."""

from dataclasses import dataclass

from rig.golden.faults.base import Fault


@dataclass
class Refuse(Fault):
    """resource_exhausted, whatever is free."""

    def refuses(self) -> bool:
        """Whether this one is refused."""
        return self.fires()
