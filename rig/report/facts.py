"""What a run was: config, plan, versions and machine, as flat facts that two runs can be held together by.

Configs are read as models, so that comments, order and defaults that are written out make no difference.
"""

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from pydantic import BaseModel

from rig.history import History
from rig.report.summary import provenance

Facts = dict[str, str]

_NO_DIFFERENCE = {
    "run": frozenset({"question", "pipeline", "machine_label"}),
    "pipeline": frozenset({"question", "host", "port"}),
}
"""What changes nothing of a run: words, the name of a file whose content is compared, where a server listens."""

_TOLD_ELSEWHERE = frozenset({"versions", "hardware", "plan_sha256", "seed", "cores"})
"""Keys of provenance.json that are facts under another name; `cores` is part of the hardware."""

_SECRET = re.compile(r"^pipeline\.env\..*(TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH)", re.IGNORECASE)
"""Settings that may be secret: it is told whether they differ, and not what they are."""

MACHINE_LABEL = "machine_label"
MEMORY = "hardware.memory_gib"
NOT_RECORDED = "not recorded"


class Difference(msgspec.Struct, frozen=True):
    """One fact that is not the same in two runs."""

    key: str
    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.key}: {self.left} and {self.right}"


def facts_of(history: History) -> Facts:
    """All facts of a run. What an old run did not record is absent."""
    made = provenance(history)
    label = history.config.machine_label
    facts = {"plan_sha256": history.plan.sha256()}
    if label is not None:
        facts[MACHINE_LABEL] = label
    for name in ("versions", "hardware"):
        facts |= _flat(made[name], name) if made.get(name) else {}
    for name, value in made.items():
        if name not in _TOLD_ELSEWHERE:
            facts |= _flat(value, f"provenance.{name}")
    facts |= _config("run", history.config) | _config("pipeline", history.pipeline)
    return {key: _sealed(value) if _SECRET.search(key) else value for key, value in facts.items()}


def differences(left: Mapping[str, str], right: Mapping[str, str]) -> list[Difference]:
    """Facts that differ, or that only one run has, in order of their names."""
    return [
        Difference(key, left.get(key, NOT_RECORDED), right.get(key, NOT_RECORDED))
        for key in sorted({*left, *right})
        if not same(key, left.get(key), right.get(key))
    ]


def same(key: str, left: str | None, right: str | None) -> bool:
    """Whether two values of one fact count as the same."""
    if left == right:
        return True
    if key != MEMORY or left is None or right is None:
        return False
    # Kernels keep a little memory back, and machines of one kind do not always report the same rest.
    return math.isclose(float(left), float(right), rel_tol=0.03)


def _sealed(value: str) -> str:
    return f"sha256 {hashlib.sha256(value.encode()).hexdigest()[:16]}"


def _config(name: str, model: BaseModel) -> Facts:
    return _flat(model.model_dump(mode="json", exclude=set(_NO_DIFFERENCE[name])), name)


def _flat(value: object, name: str) -> Facts:
    return dict(_leaves(value, name))


def _leaves(value: object, name: str) -> Iterator[tuple[str, str]]:
    """Dotted names of all settings. A list is one value: its places mean nothing by themselves."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        yield name, ", ".join(_told(item) for item in value) or "none"
    else:
        yield name, "none" if value == {} else _told(value)


def _told(value: object) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.12g}"
        case Mapping() | list():
            return msgspec.json.encode(value).decode()
        case Path() | str() | int():
            return str(value)
    return str(value)
