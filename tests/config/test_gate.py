"""The gate file is strict: limits that limit nothing, and machines under test, are mistakes."""

from pathlib import Path

import pytest

from rig.config.gate import Gate, GateConfig
from rig.config.load import load_model
from rig.errors import ConfigError

GATE = "question: Is this run no worse than before?\ngate:\n"


def loaded(folder: Path, text: str) -> Gate:
    path = folder / "gate.yaml"
    path.write_text(GATE + text)
    return load_model(path, GateConfig).gate


def test_limits_are_read_by_figure_and_statistic(tmp_path: Path) -> None:
    gate = loaded(tmp_path, "  measures: {first_audio: {p95: {max_ratio: 1.5, slack: 20, optional: true}}}\n")
    limit = gate.measures["first_audio"]["p95"]
    assert (limit.max_ratio, limit.slack, limit.max, limit.least_n, limit.optional) == (1.5, 20, None, None, True)


def test_without_a_word_a_run_must_pass_and_lose_nothing(tmp_path: Path) -> None:
    gate = loaded(tmp_path, "  under_test: []\n")
    assert (gate.verdicts, gate.max_deaths, gate.max_lost_turns) == (("pass",), 0, 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("  measures: {first_audio: {p95: {optional: true}}}", "neither `max_ratio` nor `max` is given"),
        ("  measures: {first_audio: {p95: {max: 9, slack: 2}}}", "`slack` has no meaning without `max_ratio`"),
        ("  measures: {first_audio: {p96: {max: 9}}}", "p96"),
        ("  measures: {first_audio: {p95: {max_ration: 9}}}", "did you mean `max_ratio`"),
        ("  rates: {yield_rate: {least_n: 3}}", "neither `min` nor `max_drop` is given"),
        ("  verdicts: [unknown]", "verdicts"),
        ("  verdicts: []", "verdicts"),
        ("  under_test: [hardware.cores]", "hardware.cores cannot be under test"),
        ("  under_test: [plan_sha256]", "plan_sha256 cannot be under test"),
        ("  under_test: [run.load]", "run.load cannot be under test"),
        ("  under_test: [pipeline]", "pipeline cannot be under test"),
        ("  under_test: [pipeline.hardware_label]", "pipeline.hardware_label cannot be under test"),
    ],
)
def test_a_mistake_is_told_of(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text + "\n")
    assert said in str(caught.value)
