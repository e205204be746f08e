"""Rig validity: callers who did not keep time prove nothing."""

from pathlib import Path
from typing import Any

import pytest

from rig.checks.rig_validity import RigValidity
from rig.events.types import CallStarted, FramesSent
from rig.fold import result_of
from rig.verdict import CheckResult, Verdict
from tests.builders import Run, ns


def judged(folder: Path, *batches: list[int]) -> CheckResult:
    """The check's word on frames that left `batches` microseconds late."""
    run = Run(folder)
    run.start_call(2.0)
    for second, slips_us in enumerate(batches):
        fields: dict[str, Any] = {
            "first_planned_ns": ns(3.0 + second),
            "interval_ns": 100_000_000,
            "slips_us": slips_us,
        }
        run.call(4.0 + second, FramesSent, **fields)
    return result_of(RigValidity, run.history())


@pytest.mark.parametrize(
    ("slips_us", "verdict"),
    [
        pytest.param([9_999] * 100, Verdict.PASS, id="median 9.999 ms"),
        pytest.param([10_000] * 100, Verdict.UNKNOWN, id="median 10 ms"),
        # Of 100 values, the 99th is the p99: one late frame is none too many, two are.
        pytest.param([0] * 99 + [50_000], Verdict.PASS, id="one of 100 at 50 ms"),
        pytest.param([0] * 98 + [50_000] * 2, Verdict.UNKNOWN, id="two of 100 at 50 ms"),
        pytest.param([0] * 98 + [49_999] * 2, Verdict.PASS, id="two of 100 below 50 ms"),
    ],
)
def test_median_and_p99_have_limits(tmp_path: Path, slips_us: list[int], verdict: Verdict) -> None:
    assert judged(tmp_path / "run", slips_us).verdict is verdict


def test_all_frames_of_all_calls_count(tmp_path: Path) -> None:
    # 1, 2, 3 and 400 ms: the median by nearest rank is the 2nd of 4, the p99 the 4th.
    result = judged(tmp_path / "run", [1_000, 2_000], [3_000, 400_000])
    assert result.verdict is Verdict.UNKNOWN
    assert result.summary == (
        "send slip of 4 frames: median 2.0 ms, p99 400.0 ms; start slip of 1 calls: median 0.0 ms, p99 0.0 ms"
    )
    assert result.findings[0].text == "limits of frames are 10 ms and 50 ms"


def test_a_frame_that_left_early_does_not_make_up_for_a_late_one(tmp_path: Path) -> None:
    assert judged(tmp_path / "run", [-90_000, 10_000, 10_000]).verdict is Verdict.UNKNOWN


def test_a_run_without_frames_is_unknown(tmp_path: Path) -> None:
    assert judged(tmp_path / "run").verdict is Verdict.UNKNOWN


def begun(folder: Path, *lates_ms: float, slot_late_ms: float | None = None) -> CheckResult:
    """The check's word on calls that began late, in a run whose frames were in time."""
    run = Run(folder)
    for index, late_ms in enumerate(lates_ms):
        at_s = 2.0 + index
        fields: dict[str, Any] = {"caller": 0, "behaviour": "polite", "planned_ns": ns(at_s)}
        if slot_late_ms is not None:
            fields["free_ns"] = ns(at_s + slot_late_ms / 1_000)
        run.call(at_s + late_ms / 1_000, CallStarted, f"o{index:06d}", **fields)
    run.call(90.0, FramesSent, "o000000", first_planned_ns=ns(89.0), interval_ns=100_000_000, slips_us=[0] * 10)
    return result_of(RigValidity, run.history())


@pytest.mark.parametrize(
    ("lates_ms", "verdict"),
    [
        pytest.param([0, 0, 99], Verdict.PASS, id="latest 99 ms"),
        pytest.param([0, 0, 100], Verdict.UNKNOWN, id="latest 100 ms"),
        pytest.param([10, 10, 0], Verdict.UNKNOWN, id="median 10 ms"),
    ],
)
def test_calls_have_to_begin_in_time_too(tmp_path: Path, lates_ms: list[float], verdict: Verdict) -> None:
    assert begun(tmp_path / "run", *lates_ms).verdict is verdict


def test_the_wait_for_a_free_slot_is_excused_and_told(tmp_path: Path) -> None:
    result = begun(tmp_path / "run", 5_000, 5_001, slot_late_ms=5_000)
    assert result.verdict is Verdict.PASS
    assert result.summary.endswith("; 2 calls waited for a free slot")


def test_what_comes_on_top_of_the_wait_for_a_slot_is_not_excused(tmp_path: Path) -> None:
    assert begun(tmp_path / "run", 5_200, slot_late_ms=5_000).verdict is Verdict.UNKNOWN
