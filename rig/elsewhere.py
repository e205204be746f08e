"""The parts of a run that are in other containers or on other machines, as `rig run` was told."""

from dataclasses import dataclass
from pathlib import Path

from rig.errors import UsageError
from rig.pipeline.remote import HostAddress


@dataclass(frozen=True)
class Elsewhere:
    """Without anything the rig starts everything itself.

    `server` is the host that runs the server, with the `token` that it asks for. `workers` is the number of Locust
    workers that connect by themselves to the Locust master, a child of the rig; 0 makes callers of the rig's own.
    """

    server: HostAddress | None = None
    token: str = ""
    workers: int = 0

    def told(self) -> dict[str, object]:
        """For the provenance of the run."""
        return {"server_host": None if self.server is None else str(self.server), "workers_elsewhere": self.workers}


def read_token(path: Path) -> str:
    """The token that rig and host share. Raises UsageError for a file that cannot be read or is empty."""
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the token in {path}: {error}") from error
    if not token:
        raise UsageError(f"{path} is empty; rig and host need the same secret in it")
    return token
