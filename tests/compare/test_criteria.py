"""One test a criterion, the intervals of latencies, and what so many pairs can show at all."""

import pytest

from rig.compare.criteria import LEAST_PAIRS, cannot_show, criteria_of, latencies_of, least_proof
from rig.compare.facts import Facts, Wait
from rig.compare.sides import side_of
from tests.compare.runs import dead, failed, passed, waiting

Pair = tuple[Facts, Facts]


def decided(*pairs: Pair) -> dict[str, int]:
    a, b = (side_of("x", [pair[side] for pair in pairs]) for side in (0, 1))
    return {one.name: one.decided for one in criteria_of(pairs, a, b)}


def test_the_gravest_comes_first() -> None:
    assert list(decided((passed(), passed()))) == ["deaths", "lost slots", "lost turns", "failed runs"]


def test_each_criterion_sees_its_own_fault_on_either_side() -> None:
    for fault, name in (
        (dead(), "deaths"),
        (failed("slots", lost_slots=1), "lost slots"),
        (passed(lost_turns=3), "lost turns"),
        (failed("audio"), "failed runs"),
    ):
        assert decided(*[(fault, passed())] * 6)[name] == -1
        assert decided(*[(passed(), fault)] * 6)[name] == 1
        assert decided(*[(fault, fault)] * 6)[name] == 0


def test_turns_of_a_run_that_ended_with_its_server_are_not_compared() -> None:
    found = decided(*[(dead(lost_turns=2), passed())] * 6)
    assert found["lost turns"] == 0


def test_slots_that_could_not_be_probed_on_one_side_decide_nothing() -> None:
    assert decided(*[(dead(), failed("slots", lost_slots=2))] * 6)["lost slots"] == 0


def test_four_pairs_are_the_least_and_more_pairs_need_a_smaller_share() -> None:
    assert LEAST_PAIRS == 4
    assert [least_proof(n) for n in (1, 2, 3, 4, 5, 6, 10, 20)] == [None, None, None, 4, 4, 5, 5, 5]


def test_the_level_that_decides_grows_with_the_number_of_figures() -> None:
    one = latencies_of([(waiting(100.0), waiting(110.0))] * 8)
    assert (one[0].p50.level, one[0].deciding.level) == (0.95, 0.95)
    both = passed(waits={"first_audio": Wait(5, 100.0, 200.0), "chunk_gap": Wait(5, 50.0, 60.0)})
    two = latencies_of([(both, both)] * 8)
    assert [latency.name for latency in two] == ["first_audio", "chunk_gap"]
    assert two[0].deciding.level == pytest.approx(0.975)


def test_a_figure_that_one_side_lacks_is_not_compared() -> None:
    assert latencies_of([(waiting(100.0), passed(waits={}))] * 8) == ()


@pytest.mark.parametrize(
    ("times", "found"), [(1.3, "slower"), (0.7, "faster"), (1.0, "same"), (1.05, "same"), (1.09, "same")]
)
def test_a_tenth_more_or_less_counts_as_the_same(times: float, found: str) -> None:
    (latency,) = latencies_of([(waiting(100.0), waiting(100.0 * times))] * 8)
    assert latency.found == found


def test_p95_is_told_and_decides_nothing() -> None:
    (latency,) = latencies_of([(waiting(100.0, 200.0), waiting(100.0, 900.0))] * 8)
    assert latency.p95.value == pytest.approx(4.5)
    assert latency.found == "same"


def test_it_is_said_how_wide_intervals_are_and_how_many_pairs_are_missing() -> None:
    pairs = [(waiting(100.0), waiting(value)) for value in (90.0, 100.0, 110.0, 120.0, 95.0, 105.0)]
    lines = cannot_show(pairs, latencies_of(pairs))
    assert any(line.startswith("Changes smaller than about half the width") and "first_audio" in line for line in lines)
    few = cannot_show(pairs[:3], latencies_of(pairs[:3]))
    assert any("a 95 % interval needs 6 pairs" in line for line in few)
    none = cannot_show([(dead(), dead())], ())
    assert any("no pair in which both sides lived" in line for line in none)
