"""Every reproduction, and playing them from the command line."""

from collections.abc import Callable, Sequence

from rig.engine.patches.patch import installed
from rig.engine.patches.registry import load
from rig.engine.repro import mooncake, moriio, sessions, worker_answers, zombies
from rig.engine.repro.scenario import UNPATCHED, Case, Patches, Scenario, play
from rig.errors import UsageError

ALL, LIST = "all", "list"


def scenarios() -> dict[str, Scenario]:
    """By name, in the order of the faults."""
    parts = (zombies, mooncake, moriio, worker_answers, sessions)
    return {scenario.name: scenario for part in parts for scenario in part.SCENARIOS}


def reproduce(name: str, patches: Sequence[str], say: Callable[[str], None]) -> bool:
    """Play one reproduction on every scheduler it is for; whether all ended as they must. Raises UsageError.

    `all` plays every one with each choice of patches that it says something about, and tells the ends only.
    """
    known = scenarios()
    if name == LIST:
        _list(known, say)
        return True
    if not installed("vllm"):
        raise UsageError("a reproduction needs vLLM; run make setup PROFILE=engine-cpu")
    if name == ALL:
        return _reproduce_all(known, patches, say)
    if name not in known:
        raise UsageError(f"there is no reproduction {name!r}; there are {ALL}, {', '.join(known)}")
    chosen = tuple(load(patch).name for patch in patches)
    results = [_show(known[name], case, chosen, say) for case in known[name].cases]
    return all(results)


def _list(known: dict[str, Scenario], say: Callable[[str], None]) -> None:
    for scenario in known.values():
        say(f"{scenario.name}: {scenario.summary} ({'public calls only' if scenario.public else 'one outside step'})")


def _reproduce_all(known: dict[str, Scenario], patches: Sequence[str], say: Callable[[str], None]) -> bool:
    if patches:
        raise UsageError("`all` plays every choice of patches; name one reproduction to choose the patches yourself")
    met = 0
    total = 0
    for scenario in known.values():
        for case in scenario.cases:
            for chosen, expected in case.expected.items():
                outcome = play(scenario, case.setup, chosen, lambda _: None)
                good = expected.met_by(outcome)
                say(f"{_mark(good)} {scenario.name} {case.setup.kind} [{_named(chosen)}] {outcome}")
                met, total = met + good, total + 1
    say(f"{met} of {total} ended as they must")
    return met == total


def _show(scenario: Scenario, case: Case, patches: Patches, say: Callable[[str], None]) -> bool:
    say(f"{scenario.name} on {case.setup.kind}, patches: {_named(patches)}")
    outcome = play(scenario, case.setup, patches, lambda line: say(f"  {line}"))
    say(f"  -> {outcome}")
    expected = case.expected.get(patches)
    if expected is None:
        say("  nothing is promised for these patches here")
        return outcome.raised is None and not outcome.wrongs
    good = expected.met_by(outcome)
    say(f"  {_mark(good)} expected: {expected}")
    return good


def _mark(good: bool) -> str:
    return "ok  " if good else "BAD "


def _named(patches: Patches) -> str:
    return ", ".join(patches) if patches != UNPATCHED else "none"
