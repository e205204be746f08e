"""A variant of the server: one side of a comparison, written as a list of engine patches or of golden faults.

none                                 the server as it is
scheduler_zombies,moriio_async_read  these patches, and no other
bug:zombie_in_running                this bug, besides those that both sides have
fault:die:after_sessions=2,p=0.5     the golden server with this fault
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rig.config.overrides import Overrides, edited
from rig.config.pipeline import EnginePatch, whole_bug
from rig.errors import UsageError, nearest

NONE = "none"
FAULT = "fault:"
BUG = "bug:"
_SETTING = re.compile(r"^\w+=[^=]*$")


@dataclass(frozen=True)
class Variant:
    """What takes the place of a pipeline file's own `patches` and `golden.faults`; `bugs` are added to the file's."""

    spec: str
    patches: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    bugs: tuple[str, ...] = ()

    def apply(self, data: dict[str, Any]) -> dict[str, Any]:
        """The settings of a pipeline file as this variant has them. Raises UsageError where it does not fit."""
        if "url" in data:
            raise UsageError("a server that somebody else runs has no variants: name a pipeline that the rig starts")
        golden = data.get("golden")
        if isinstance(golden, dict):
            if self.patches or self.bugs:
                wrong = ", ".join((*self.patches, *self.bugs))
                raise UsageError(f"{wrong}: the golden server has no engine; its faults are written {FAULT}NAME")
            return data | {"golden": golden | {"faults": list(self.faults)}}
        if self.faults:
            raise UsageError(f"{FAULT}{self.faults[0]}: only the golden server has faults on demand")
        return Overrides(bugs=self.bugs).apply_to_pipeline(data | {"patches": list(self.patches)})

    def written(self, pipeline_file: Path) -> str:
        """The text of a pipeline file that is good, as this variant has it."""
        return edited(pipeline_file, self.apply, f"as the variant {self.spec}")


def parse(spec: str, bugs: tuple[str, ...] = ()) -> Variant:
    """A variant as it stands on the command line; in its `spec` a bug that is a file has its whole path.

    Raises UsageError for what is neither patch nor fault.
    """
    patches: list[str] = []
    faults: list[str] = []
    own_bugs: list[str] = []
    parts: list[str] = []
    for word in spec.split(","):
        part = word.strip()
        if part == NONE and spec.strip() == NONE:
            continue
        if part.startswith(FAULT):
            faults.append(part.removeprefix(FAULT))
        elif part.startswith(BUG):
            own_bugs.append(whole_bug(part.removeprefix(BUG)))
            part = BUG + own_bugs[-1]
        elif _SETTING.match(part) and faults:
            # A comma inside a fault's own settings.
            faults[-1] += f",{part}"
        elif part in set(EnginePatch):
            patches.append(part)
        else:
            known = nearest(part, EnginePatch)
            raise UsageError(
                f"{spec!r}: {part!r} is no patch; give `{NONE}`, {FAULT}NAME, {BUG}NAME, or names of patches; {known}"
            )
        parts.append(part)
    return Variant(",".join(parts) or NONE, tuple(patches), tuple(faults), (*bugs, *own_bugs))
