"""The randomisation test of paired differences: exact for few, near enough for many."""

import pytest

from rig.compare.signs import EXACT_UP_TO, sign_flip


@pytest.mark.parametrize(("count", "p"), [(1, 1.0), (5, 2 / 32), (6, 2 / 64), (10, 2 / 1024)])
def test_differences_of_one_sign_are_as_rare_as_two_patterns_of_all(count: int, p: float) -> None:
    assert sign_flip([1.0] * count) == p
    assert sign_flip([-0.5] * count) == p


def test_six_is_the_least_number_of_differences_that_can_be_below_five_percent() -> None:
    assert sign_flip([1.0] * 5) >= 0.05 > sign_flip([1.0] * 6)


def test_the_share_of_patterns_is_counted_with_the_sizes() -> None:
    # Of the 8 patterns of 1, 2 and 4 the sums 7, -7, 5 and -5 are at least 5 away from 0.
    assert sign_flip([4.0, 2.0, -1.0]) == 4 / 8


def test_equal_runs_and_no_run_say_nothing() -> None:
    assert sign_flip([]) == 1.0
    assert sign_flip([0.0, 0.0, 0.0]) == 1.0
    assert sign_flip([0.0, 0.0, 1.0]) == 1.0


def test_many_differences_are_drawn_and_give_the_same_again() -> None:
    lopsided = [1.0] * (EXACT_UP_TO + 4)
    balanced = [1.0, -1.0] * (EXACT_UP_TO // 2 + 2)
    assert sign_flip(lopsided) == sign_flip(lopsided) < 0.001
    assert sign_flip(balanced) > 0.9
