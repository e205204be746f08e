"""A baseline counts on one kind of machine, with one config, plan and versions; else it is said what differs."""

import pytest

from rig.report.gate.standing import gated, on_purpose
from tests.report.gate.digests import FACTS


def keys(
    run: dict[str, str | None], base: dict[str, str | None] | None = None, under_test: tuple[str, ...] = ()
) -> list[str]:
    """Keys that keep the baseline from counting; a fact given as None is not recorded."""
    left, right = (
        {key: value for key, value in (FACTS | (changed or {})).items() if value is not None} for changed in (base, run)
    )
    return [each.key for each in gated(left, right, under_test)]


def test_a_repetition_has_its_baseline() -> None:
    assert keys({}) == []


@pytest.mark.parametrize(
    "key",
    [
        "hardware.cpu",
        "hardware.cores",
        "hardware.gpus",
        "plan_sha256",
        "pipeline.stages.talker.max_num_seqs",
        "pipeline.hardware_label",
        "run.load.callers",
        "versions.vllm-omni",
    ],
)
def test_each_fact_of_machine_config_plan_and_versions_counts(key: str) -> None:
    assert keys({key: "another"}) == [key]
    assert keys({}, {key: "another"}) == [key]


@pytest.mark.parametrize("key", ["provenance.kernel", "provenance.host", "provenance.argv"])
def test_what_a_machine_is_called_and_what_was_typed_does_not_count(key: str) -> None:
    assert keys({key: "another"}) == []


def test_of_python_the_first_two_numbers_count() -> None:
    assert keys({"provenance.python": "3.11.9"}) == []
    assert keys({"provenance.python": "3.12.7"}) == ["provenance.python"]


@pytest.mark.parametrize("old", [{}, {"hardware.cpu": None}])
def test_a_run_that_did_not_record_its_machine_has_no_baseline(old: dict[str, str | None]) -> None:
    without = dict.fromkeys((key for key in FACTS if key.startswith("hardware.")), None)
    assert keys({**without, **old}) == ["hardware"]
    assert keys({}, {**without, **old}) == ["hardware"]
    assert keys({**without}, {**without}) == ["hardware"]


def test_a_processor_that_nobody_could_name_is_not_the_same_one() -> None:
    assert keys({"hardware.cpu": "none"}, {"hardware.cpu": "none"}) == ["hardware.cpu"]


def test_a_label_stands_for_what_a_machine_reports() -> None:
    labelled: dict[str, str | None] = {"machine_label": "large"}
    assert keys({**labelled, "hardware.cores": "4"}, labelled) == []
    assert keys({"machine_label": "small"}, labelled) == ["machine_label"]
    assert keys({}, labelled) == ["machine_label"]


def test_what_is_under_test_may_differ_alone_or_as_a_group() -> None:
    changed: dict[str, str | None] = {"versions.vllm-omni": "0.31.0", "pipeline.stages.talker.max_num_seqs": "8"}
    assert keys(changed, under_test=("versions.vllm-omni",)) == ["pipeline.stages.talker.max_num_seqs"]
    assert keys(changed, under_test=("versions.vllm-omni", "pipeline.stages")) == []
    assert keys(changed, under_test=("versions.vllm", "pipeline.stage")) == sorted(changed)


def test_what_differs_on_purpose_is_told() -> None:
    (only,) = on_purpose(FACTS, FACTS | {"versions.vllm-omni": "0.31.0"}, ("versions",))
    assert str(only) == "versions.vllm-omni: 0.30.0 and 0.31.0"
