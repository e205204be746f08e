"""Whether a baseline counts for a run: the same kind of machine, and the same config, plan and versions.

Otherwise a difference of figures would be one of machines or loads, and neither pass nor fail would be true.
"""

from collections.abc import Mapping, Sequence

from rig.report.facts import MACHINE_LABEL, NOT_RECORDED, Difference, differences

PYTHON = "provenance.python"

_CONFIG = ("run.", "pipeline.", "versions.", "provenance.engine_")
_HARDWARE = "hardware."
_PROCESSOR = "hardware.cpu"


def gated(baseline: Mapping[str, str], run: Mapping[str, str], under_test: Sequence[str] = ()) -> list[Difference]:
    """Every fact that keeps the baseline from counting, but those whose change is what is tested."""
    found = [*_machine(baseline, run), *differences(_config(baseline), _config(run))]
    return [each for each in found if not is_tested(each.key, under_test)]


def on_purpose(baseline: Mapping[str, str], run: Mapping[str, str], under_test: Sequence[str]) -> list[Difference]:
    """Facts that differ and may, because their change is what is tested."""
    return [each for each in differences(_config(baseline), _config(run)) if is_tested(each.key, under_test)]


def is_tested(key: str, under_test: Sequence[str]) -> bool:
    """Whether a fact, or a group that it belongs to, is named as under test."""
    return any(key == name or key.startswith(f"{name}.") for name in under_test)


def _machine(baseline: Mapping[str, str], run: Mapping[str, str]) -> list[Difference]:
    """What tells the kinds of machine apart; a label stands for everything that the machine reports."""
    if MACHINE_LABEL in baseline or MACHINE_LABEL in run:
        only = (MACHINE_LABEL,)
        return differences(_only(baseline, only), _only(run, only))
    if not all(any(key.startswith(_HARDWARE) for key in facts) for facts in (baseline, run)):
        told = ["recorded" if _PROCESSOR in facts else NOT_RECORDED for facts in (baseline, run)]
        return [Difference("hardware", *told)]
    if baseline.get(_PROCESSOR) == run.get(_PROCESSOR) == "none":
        return [Difference(_PROCESSOR, "not known", "not known (give a machine_label)")]
    return differences(_only(baseline, (_HARDWARE,)), _only(run, (_HARDWARE,)))


def _config(facts: Mapping[str, str]) -> dict[str, str]:
    """Config, plan, versions and patches. Of Python the first two numbers count."""
    found = _only(facts, (*_CONFIG, "plan_sha256"))
    if PYTHON in facts:
        found[PYTHON] = ".".join(facts[PYTHON].split(".")[:2])
    return found


def _only(facts: Mapping[str, str], beginnings: tuple[str, ...]) -> dict[str, str]:
    return {key: value for key, value in facts.items() if key.startswith(beginnings)}
