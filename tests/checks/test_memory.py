"""Memory: steady growth under load is a leak; a step, noise and a slow drift are not; a short run is not judged."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from rig.checks.memory import MIB, Memory, theil_sen
from rig.events.types import MemorySampled, Phase, PhaseEntered
from rig.fold import result_of
from rig.verdict import CheckResult, Verdict
from tests.builders import EXTERNAL_YAML, RUN_YAML, Run

HOUR_S = 3_600.0
JUDGED = RUN_YAML + "memory: {warm_up_s: 100, least_s: 1000, growth_per_hour: 0.1}\n"


def judged(
    folder: Path, rss_mib: Callable[[float], float], *, load_s: float = HOUR_S, run_yaml: str = JUDGED
) -> CheckResult:
    """A load in which one process has `rss_mib(seconds)` of memory, with 1 MiB of noise on every sample."""
    run = Run(folder / "run", run=run_yaml)
    run.ready(0.0)
    noise = random.Random(7)
    for at_s in range(0, int(load_s), 5):
        rss = round((rss_mib(float(at_s)) + noise.uniform(-1, 1)) * MIB)
        run.rig(float(at_s), MemorySampled, pid=101, stage="thinker", rss_bytes=rss)
    run.rig(load_s, PhaseEntered, phase=Phase.DRAIN)
    return result_of(Memory, run.history())


def test_level_memory_passes_and_tells_the_growth_and_its_interval(tmp_path: Path) -> None:
    result = judged(tmp_path, lambda at_s: 1_000.0)
    assert result.verdict is Verdict.PASS
    assert result.summary.startswith("1 processes over 3500 s of load, the most growth: thinker (pid 101) ")
    assert "95 % interval" in result.summary


def test_steady_growth_above_the_share_fails(tmp_path: Path) -> None:
    result = judged(tmp_path, lambda at_s: 1_000 + 200 * at_s / HOUR_S)
    assert result.verdict is Verdict.FAIL
    assert result.summary.startswith("1 processes leak: thinker (pid 101) ")
    assert result.findings[0].at_s == 100.0


def test_steady_growth_below_the_share_passes(tmp_path: Path) -> None:
    assert judged(tmp_path, lambda at_s: 1_000 + 50 * at_s / HOUR_S).verdict is Verdict.PASS


def test_growth_in_the_warm_up_alone_passes(tmp_path: Path) -> None:
    assert judged(tmp_path, lambda at_s: 1_000 + 4 * min(at_s, 100)).verdict is Verdict.PASS


@pytest.mark.parametrize("step_s", [700.0, 1_200.0, 1_900.0, 3_000.0])
def test_one_step_is_no_leak(tmp_path: Path, step_s: float) -> None:
    assert judged(tmp_path, lambda at_s: 1_000 if at_s < step_s else 1_300).verdict is Verdict.PASS


def test_growth_in_many_small_steps_is_a_leak(tmp_path: Path) -> None:
    assert judged(tmp_path, lambda at_s: 1_000 + 20 * (at_s // 300)).verdict is Verdict.FAIL


def test_memory_after_the_load_does_not_count(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", run=JUDGED)
    run.ready(0.0)
    run.rig(2_000.0, PhaseEntered, phase=Phase.DRAIN)
    for at_s in range(0, 4_000, 5):
        rss = 1_000 + max(0, at_s - 2_000)
        run.rig(float(at_s), MemorySampled, pid=101, stage="thinker", rss_bytes=rss * MIB)
    assert result_of(Memory, run.history()).verdict is Verdict.PASS


@pytest.mark.parametrize("load_s", [50.0, 1_050.0])
def test_a_short_load_is_not_judged_whatever_it_shows(tmp_path: Path, load_s: float) -> None:
    result = judged(tmp_path, lambda at_s: 1_000 + at_s, load_s=load_s)
    assert result.verdict is Verdict.PASS
    assert result.summary.startswith("not judged: ")
    assert result.summary.endswith("at least 1000 s are needed")


def test_a_long_load_without_samples_is_unknown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", run=JUDGED)
    run.ready(0.0)
    run.rig(HOUR_S, PhaseEntered, phase=Phase.DRAIN)
    assert result_of(Memory, run.history()).verdict is Verdict.UNKNOWN


def test_an_external_server_is_not_judged(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", pipeline=EXTERNAL_YAML)
    assert result_of(Memory, run.history()).summary.startswith("not applicable")


def test_the_slope_is_exact_on_a_line_and_an_outlier_does_not_move_it() -> None:
    line = [(float(x), 3.0 * x + 1) for x in range(20)]
    assert theil_sen(line) == (3.0, 3.0, 3.0)
    line[10] = (10.0, 1e6)
    slope, low, high = theil_sen(line)
    assert slope == pytest.approx(3.0)
    assert low <= 3.0 <= high


def test_the_interval_holds_the_slope_in_95_of_100_noisy_lines() -> None:
    hits = 0
    for seed in range(200):
        noise = random.Random(seed)
        _, low, high = theil_sen([(float(x), 2.0 * x + noise.gauss(0, 20)) for x in range(30)])
        hits += low <= 2.0 <= high
    assert 0.91 <= hits / 200 <= 0.99
