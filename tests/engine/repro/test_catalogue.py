"""Every reproduction ends as it says, on every scheduler, with and without patches."""

import pytest

pytest.importorskip("vllm")

from rig.engine.repro.catalogue import reproduce, scenarios
from rig.engine.repro.scenario import Case, Patches, Scenario, play
from rig.errors import UsageError

PLAYS = [
    pytest.param(scenario, case, patches, id=f"{scenario.name}-{case.setup.kind}-{'+'.join(patches) or 'none'}")
    for scenario in scenarios().values()
    for case in scenario.cases
    for patches in case.expected
]


@pytest.mark.timeout(300)  # the first one imports vLLM
@pytest.mark.parametrize(("scenario", "case", "patches"), PLAYS)
def test_each_ends_as_it_says(scenario: Scenario, case: Case, patches: Patches) -> None:
    outcome = play(scenario, case.setup, patches, lambda _: None)
    assert case.expected[patches].met_by(outcome), f"{outcome} instead of {case.expected[patches]}"


def test_one_is_told_call_by_call() -> None:
    lines: list[str] = []
    assert reproduce("zombie-in-running", ["scheduler_zombies"], lines.append)
    assert any("OUTSIDE" in line for line in lines)
    assert any("add_request('gone'" in line for line in lines)


def test_an_unknown_one_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="zombie-in-running"):
        reproduce("no-such-thing", [], lambda _: None)
