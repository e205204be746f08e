"""How a run stands, told by the rig to the callers' web UI: a small file that is written anew while the run goes on."""

from contextlib import suppress
from pathlib import Path

import msgspec

from rig.errors import RigError
from rig.files import replace

STANDING_FILE = "standing.json"


class Process(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One process of the server that is a stage."""

    pid: int
    stage: str
    state: str


class Standing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person wants to know: named lines, the server's processes, and its deaths; at a moment of the host."""

    t_ns: int
    rows: list[tuple[str, str]]
    processes: list[Process]
    deaths: list[str]


_decoder = msgspec.json.Decoder(Standing)


def write(path: Path, standing: Standing) -> None:
    """Write it whole or not at all. Never raises for a full disk: it is for looking at only."""
    with suppress(RigError):
        replace(path, msgspec.json.encode(standing))


def read(path: Path) -> Standing | None:
    """The last one; None where there is none, or no longer."""
    try:
        return _decoder.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None
