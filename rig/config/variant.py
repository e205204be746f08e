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

import yaml

from rig.config.pipeline import EnginePatch
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
        edited = data | {"patches": list(self.patches)}
        if self.bugs:
            written = data.get("bugs")
            edited["bugs"] = list(dict.fromkeys((*(written if isinstance(written, list) else ()), *self.bugs)))
        return edited

    def written(self, pipeline_file: Path) -> str:
        """The text of a pipeline file that is good, as this variant has it."""
        data = self.apply(yaml.safe_load(pipeline_file.read_text(encoding="utf-8")))
        heading = f"# {data['question']}\n# {pipeline_file.name} as the variant {self.spec}\n"
        return heading + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=120)


def parse(spec: str, bugs: tuple[str, ...] = ()) -> Variant:
    """A variant as it stands on the command line. Raises UsageError for what is neither patch nor fault."""
    patches: list[str] = []
    faults: list[str] = []
    own_bugs: list[str] = []
    for word in spec.split(","):
        part = word.strip()
        if part == NONE and spec.strip() == NONE:
            continue
        if part.startswith(FAULT):
            faults.append(part.removeprefix(FAULT))
        elif part.startswith(BUG):
            own_bugs.append(part.removeprefix(BUG))
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
    return Variant(spec.strip(), tuple(patches), tuple(faults), (*bugs, *own_bugs))
