"""Facts of a run: what has to be the same before two runs are held together."""

import json
from pathlib import Path

import pytest

from rig.report.facts import MACHINE_LABEL, differences, facts_of, same
from tests.builders import GOLDEN_YAML, PIPELINE_YAML, RUN_YAML, Run, edited


def facts(folder: Path, *, run: str = RUN_YAML, pipeline: str = GOLDEN_YAML, **provenance: object) -> dict[str, str]:
    made = Run(folder, run=run, pipeline=pipeline)
    (folder / "provenance.json").write_text(json.dumps(provenance))
    return facts_of(made.history())


def keys(left: dict[str, str], right: dict[str, str]) -> list[str]:
    return [each.key for each in differences(left, right)]


def test_config_versions_and_hardware_are_facts_with_dotted_names(tmp_path: Path) -> None:
    found = facts(tmp_path / "run", versions={"locust": "2.47.0"}, hardware={"cores": 2.0, "gpus": []}, kernel="6.1")
    assert found["run.load.callers"] == "1"
    assert found["pipeline.golden.seed"] == "7"
    assert found["versions.locust"] == "2.47.0"
    assert (found["hardware.cores"], found["hardware.gpus"]) == ("2", "none")
    assert found["provenance.kernel"] == "6.1"


def test_words_places_and_defaults_that_are_written_out_make_no_difference(tmp_path: Path) -> None:
    left = facts(tmp_path / "left")
    run = edited(RUN_YAML, question="Is this another question than before?") + "memory: {least_s: 1800}\n"
    right = facts(tmp_path / "right", run="# a comment\n" + run, pipeline=GOLDEN_YAML + "port: 9\n")
    assert differences(left, right) == []


@pytest.mark.parametrize(
    ("run", "pipeline", "key"),
    [
        (edited(RUN_YAML, callers=2), GOLDEN_YAML, "run.load.callers"),
        (edited(RUN_YAML, sessions=2), GOLDEN_YAML, "run.require.sessions"),
        (RUN_YAML, edited(GOLDEN_YAML, golden="{seed: 8}"), "pipeline.golden.seed"),
        (RUN_YAML, edited(GOLDEN_YAML, hardware_label="other"), "pipeline.hardware_label"),
    ],
)
def test_a_setting_that_differs_is_named(tmp_path: Path, run: str, pipeline: str, key: str) -> None:
    left = facts(tmp_path / "left")
    assert key in keys(left, facts(tmp_path / "right", run=run, pipeline=pipeline))


def test_another_seed_is_another_plan(tmp_path: Path) -> None:
    found = keys(facts(tmp_path / "left"), facts(tmp_path / "right", run=edited(RUN_YAML, seed=8)))
    assert found == ["plan_sha256", "run.seed"]


def test_what_only_one_run_recorded_differs(tmp_path: Path) -> None:
    left, right = facts(tmp_path / "left"), facts(tmp_path / "right", hardware={"cores": 2})
    (only,) = differences(left, right)
    assert str(only) == "hardware.cores: not recorded and 2"


def test_the_label_of_a_machine_is_a_fact_of_its_own(tmp_path: Path) -> None:
    assert MACHINE_LABEL not in facts(tmp_path / "without")
    assert facts(tmp_path / "with", run=RUN_YAML + "machine_label: large\n")[MACHINE_LABEL] == "large"


def test_memory_that_a_kernel_keeps_back_makes_no_difference_and_other_numbers_do() -> None:
    assert same("hardware.memory_gib", "15.5", "15.6")
    assert not same("hardware.memory_gib", "15.5", "31.1")
    assert not same("hardware.cores", "155", "156")


def test_what_may_be_secret_is_told_apart_and_not_told(tmp_path: Path) -> None:
    def env(name: str, value: str) -> dict[str, str]:
        pipeline = PIPELINE_YAML + f"env: {{HF_TOKEN: {value}, OMP_NUM_THREADS: '1'}}\n"
        return facts(tmp_path / name, pipeline=pipeline)

    left, right = env("left", "hf_secret"), env("right", "hf_other")
    assert keys(left, right) == ["pipeline.env.HF_TOKEN"]
    assert left["pipeline.env.HF_TOKEN"].startswith("sha256 ")
    assert "hf_secret" not in "".join(left.values())
    assert left["pipeline.env.OMP_NUM_THREADS"] == "1"


def test_large_numbers_are_told_whole(tmp_path: Path) -> None:
    pipeline = edited(GOLDEN_YAML, golden="{seed: 7, replay_max_bytes: 123456789}")
    assert facts(tmp_path / "run", pipeline=pipeline)["pipeline.golden.replay_max_bytes"] == "123456789"
