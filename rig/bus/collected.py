"""The collector's copy of one journal: at any moment exactly the first bytes of the producer's own."""

import enum
import os
from pathlib import Path

from rig.errors import BusError


class Taken(enum.Enum):
    """What became of a batch."""

    WRITTEN = "written"
    KNOWN = "known"
    GAP = "gap"
    NOT_WRITTEN = "not_written"


class CollectedFile:
    """A new file. Raises BusError when there is one of that name, or none can be made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise BusError(f"cannot create {path.name}: {error.strerror}") from error

    def take(self, offset: int, data: bytes) -> Taken:
        """Append what is new of `data`, whose first byte stands at `offset` of the journal. Never raises for a disk."""
        if offset > self.size:
            return Taken.GAP
        fresh = memoryview(data)[self.size - offset :]
        if not fresh:
            return Taken.KNOWN
        while fresh:
            try:
                written = os.write(self._fd, fresh)
            except OSError:
                return Taken.NOT_WRITTEN
            self.size += written
            fresh = fresh[written:]
        return Taken.WRITTEN

    def close(self) -> None:
        """No more batches. Harmless twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
