"""The faults of the golden server, one a file: the explicit table, and how a fault is written on the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields

from rig.errors import UsageError, nearest
from rig.golden.faults.base import Fault
from rig.golden.faults.close_1011 import Close1011
from rig.golden.faults.cross_audio import CrossAudio
from rig.golden.faults.die import Die
from rig.golden.faults.doubled_chunk import DoubledChunk
from rig.golden.faults.drop import Drop
from rig.golden.faults.exit import Exit
from rig.golden.faults.forget import Forget
from rig.golden.faults.freeze import Freeze
from rig.golden.faults.hang import Hang
from rig.golden.faults.late_death import LateDeath
from rig.golden.faults.leak import Leak
from rig.golden.faults.lose_slot import LoseSlot
from rig.golden.faults.missing_chunk import MissingChunk
from rig.golden.faults.missing_start import MissingStart
from rig.golden.faults.no_end import NoEnd
from rig.golden.faults.refuse import Refuse
from rig.golden.faults.reordered_chunk import ReorderedChunk
from rig.golden.faults.repeat_seq import RepeatSeq
from rig.golden.faults.resurrect import Resurrect
from rig.golden.faults.shared_id import SharedId
from rig.golden.faults.skip_seq import SkipSeq
from rig.golden.faults.slow_start import SlowStart
from rig.golden.faults.stale_audio import StaleAudio
from rig.golden.faults.stay import Stay
from rig.golden.faults.two_ends import TwoEnds
from rig.golden.faults.wrong_generation import WrongGeneration
from rig.golden.faults.wrong_turn import WrongTurn

__all__ = ["FAULTS", "Entry", "Fault", "parse"]


@dataclass(frozen=True)
class Entry:
    """A row of the table: `check` is the check of rig.checks that has to fail, None for what is no fault to a check."""

    make: type[Fault]
    does: str
    check: str | None


FAULTS: Mapping[str, Entry] = {
    "none": Entry(Fault, "nothing: the control of every trial", None),
    "die": Entry(Die, "SIGKILLs its own process after a chunk of a reply", "liveness"),
    "exit": Entry(Exit, "exits with `status` after a chunk of a reply", "liveness"),
    "late_death": Entry(LateDeath, "exits `delay_s` after the last connection has gone", "liveness"),
    "hang": Entry(Hang, "says and hears nothing any more on any session, while /health is OK", "progress"),
    "freeze": Entry(Freeze, "stands still for `for_s` after a chunk, /health included", "progress"),
    "lose_slot": Entry(LoseSlot, "a hang-up costs its slot for ever", "slots"),
    "resurrect": Entry(
        Resurrect, "a session closed by its caller keeps its slot, and sound follows session.closed", "slots"
    ),
    "cross_audio": Entry(CrossAudio, "a chunk carries another session's voice", "audio"),
    "stale_audio": Entry(StaleAudio, "`chunks` chunks of a cancelled reply follow its terminal event", "stale_audio"),
    "missing_start": Entry(MissingStart, "the first chunk of a reply is never sent", "audio"),
    "missing_chunk": Entry(MissingChunk, "a chunk inside a reply is never sent", "audio"),
    "doubled_chunk": Entry(DoubledChunk, "a chunk is sent twice", "audio"),
    "reordered_chunk": Entry(ReorderedChunk, "a chunk changes places with the next one", "audio"),
    "no_end": Entry(NoEnd, "a reply has no terminal event", "progress"),
    "two_ends": Entry(TwoEnds, "a reply has two terminal events", "progress"),
    "close_1011": Entry(Close1011, "closes a connection with `code` after a chunk", "connections"),
    "drop": Entry(Drop, "ends a connection without a close frame after a chunk", "connections"),
    "refuse": Entry(Refuse, "refuses a session with resource_exhausted while slots are free", "refusals"),
    "leak": Entry(Leak, "keeps `mib` MiB for each cut reply and each hang-up", "memory"),
    "slow_start": Entry(SlowStart, "listens only `for_s` after the start", None),
    "wrong_turn": Entry(WrongTurn, "the first reply after a resume says the previous reply again", "turn_identity"),
    "repeat_seq": Entry(RepeatSeq, "the first new event after a resume repeats a server_event_seq", "resume"),
    "skip_seq": Entry(SkipSeq, "the first new event after a resume skips a server_event_seq", "resume"),
    "wrong_generation": Entry(WrongGeneration, "session.resumed does not raise attachment_generation", "resume"),
    "forget": Entry(Forget, "a dropped session is gone at once, and a resume of it is refused", "resume"),
    "shared_id": Entry(SharedId, "a reply carries the response id of another session's reply", "turn_identity"),
    "stay": Entry(Stay, "does not stop when it is asked to", "shutdown"),
}


def parse(specs: Sequence[str]) -> list[tuple[str, Fault]]:
    """Faults from NAME[:key=value,...]. Raises UsageError for a name, key or value that is not known."""
    return [_parse(spec) for spec in specs]


def settings_of(make: type[Fault]) -> dict[str, type]:
    """The settings of a fault and their types."""
    return {one.name: type(one.default) for one in fields(make) if one.init and one.default is not MISSING}


def listing() -> str:
    """The table as text."""
    lines = []
    for name, entry in FAULTS.items():
        shown = ", ".join(f"{one.name}={one.default}" for one in fields(entry.make) if one.init)
        seen = entry.check or "no check yet"
        lines.append(f"{name}: {entry.does}\n    seen by: {seen}; settings: {shown}")
    return "\n".join(lines)


def _parse(spec: str) -> tuple[str, Fault]:
    name, _, rest = spec.partition(":")
    if name not in FAULTS:
        raise UsageError(f"unknown fault {name!r}; {nearest(name, FAULTS)}")
    make = FAULTS[name].make
    known = settings_of(make)
    values: dict[str, float | int] = {}
    for part in rest.split(",") if rest else []:
        key, equals, value = part.partition("=")
        if key not in known or not equals:
            raise UsageError(f"fault {name}: {part!r} is none of its settings; {nearest(key, known)}")
        try:
            values[key] = known[key](value)
        except ValueError as error:
            raise UsageError(f"fault {name}: {key}={value!r} is no {known[key].__name__}; correct the value") from error
    return name, make(**values)  # type: ignore[arg-type]
