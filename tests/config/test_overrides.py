"""Flags instead of settings: what they change, and what the copy of the run file then says."""

from pathlib import Path

import pytest
import yaml

from rig.config.load import load_both, load_pipeline, load_run
from rig.config.overrides import Overrides, pipeline_written_with, written_with
from rig.config.pipeline import EnginePatch, PipelineConfig
from rig.errors import ConfigError, UsageError
from tests.builders import EXTERNAL_YAML, GOLDEN_YAML, PIPELINE_YAML, RUN_YAML

CONSTANT = RUN_YAML.replace("  pause_s: {low: 0.1, high: 0.2}\n", "").replace(
    "load:\n", "load:\n  arrivals: {kind: constant, rate: 2}\n"
)


def arrivals(overrides: Overrides, text: str = RUN_YAML) -> object:
    return overrides.apply(yaml.safe_load(text))["load"].get("arrivals")


def test_a_rate_turns_a_closed_loop_into_poisson_arrivals_without_a_pause() -> None:
    load = Overrides(request_rate=3).apply(yaml.safe_load(RUN_YAML))["load"]
    assert load["arrivals"] == {"kind": "poisson", "rate": 3}
    assert "pause_s" not in load


def test_a_rate_keeps_the_kind_of_open_arrivals() -> None:
    assert arrivals(Overrides(request_rate=3), CONSTANT) == {"kind": "constant", "rate": 3}


def test_a_burstiness_means_gamma_arrivals_at_the_rate_of_the_file_or_flag() -> None:
    assert arrivals(Overrides(burstiness=0.5), CONSTANT) == {"kind": "gamma", "rate": 2, "burstiness": 0.5}
    assert arrivals(Overrides(3, 0.5)) == {"kind": "gamma", "rate": 3, "burstiness": 0.5}


def test_a_burstiness_without_a_rate_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="needs a rate"):
        arrivals(Overrides(burstiness=0.5))


def test_a_replay_takes_no_rate() -> None:
    text = CONSTANT.replace("{kind: constant, rate: 2}", "{kind: replay, plan: x.jsonl}")
    with pytest.raises(UsageError, match="no meaning for a replay"):
        arrivals(Overrides(request_rate=1), text)


def test_the_copy_says_what_is_run_and_reads_back_as_the_same_config(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(PIPELINE_YAML)
    run_file = tmp_path / "run.yaml"
    run_file.write_text(RUN_YAML)
    overrides = Overrides(2.5, None, 6, 99)
    config, _, _ = load_both(run_file, overrides)
    copy = tmp_path / "copy.yaml"
    copy.write_text(written_with(run_file, overrides))
    assert load_run(copy) == config
    assert (config.load.callers, config.seed) == (6, 99)
    assert "run.yaml with --request-rate 2.5 --max-concurrency 6 --seed 99" in copy.read_text()


def test_without_flags_the_copy_is_the_file(tmp_path: Path) -> None:
    run_file = tmp_path / "run.yaml"
    run_file.write_text("# a comment\n" + RUN_YAML)
    assert written_with(run_file, Overrides()) == run_file.read_text()


def test_a_mistake_in_the_file_is_still_named_with_its_line(tmp_path: Path) -> None:
    run_file = tmp_path / "run.yaml"
    run_file.write_text(RUN_YAML.replace("  callers: 1", "  caller: 1"))
    with pytest.raises(ConfigError, match=r"run\.yaml:5: load\.caller: unknown key; did you mean `callers`\?"):
        load_both(run_file, Overrides(request_rate=1))


def both(folder: Path, pipeline: str, overrides: Overrides) -> object:
    (folder / "pipeline.yaml").write_text(pipeline)
    (folder / "run.yaml").write_text(RUN_YAML)
    _, found, _ = load_both(folder / "run.yaml", overrides)
    return found


def test_bugs_and_patches_come_after_those_of_the_pipeline_file_and_only_once(tmp_path: Path) -> None:
    text = PIPELINE_YAML + "patches: [moriio_async_read]\nbugs: [zombie_in_running]\n"
    overrides = Overrides(bugs=("zombie_in_running", "/x/mine.py"), patches=("scheduler_zombies",))
    found = both(tmp_path, text, overrides)
    assert isinstance(found, PipelineConfig)
    assert found.bugs == ("zombie_in_running", "/x/mine.py")
    assert found.patches == (EnginePatch.MORIIO_ASYNC_READ, EnginePatch.SCHEDULER_ZOMBIES)


def test_the_copy_of_the_pipeline_says_what_is_put_on_and_reads_back_as_the_same(tmp_path: Path) -> None:
    overrides = Overrides(bugs=("zombie_in_running",), patches=("scheduler_zombies",))
    found = both(tmp_path, PIPELINE_YAML, overrides)
    copy = tmp_path / "copy.yaml"
    copy.write_text(pipeline_written_with(tmp_path / "pipeline.yaml", overrides))
    assert load_pipeline(copy) == found
    assert "pipeline.yaml with --bug zombie_in_running --patch scheduler_zombies" in copy.read_text()
    assert pipeline_written_with(tmp_path / "pipeline.yaml", Overrides(seed=3)) == PIPELINE_YAML


def test_an_unknown_bug_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"'zombie': there is no such bug.*; did you mean `zombie_in_running`"):
        both(tmp_path, PIPELINE_YAML, Overrides(bugs=("zombie",)))


@pytest.mark.parametrize("pipeline", [GOLDEN_YAML, EXTERNAL_YAML], ids=["golden", "external"])
def test_engines_that_the_rig_does_not_start_take_no_bug(tmp_path: Path, pipeline: str) -> None:
    with pytest.raises(UsageError, match=r"--bug zombie_in_running: .* starts no engines"):
        both(tmp_path, pipeline, Overrides(bugs=("zombie_in_running",)))


def test_a_bug_that_is_a_file_is_looked_for_beside_the_pipeline_file(tmp_path: Path) -> None:
    found = both(tmp_path, PIPELINE_YAML + "bugs: [mine.py]\n", Overrides())
    assert isinstance(found, PipelineConfig)
    assert found.bugs == (str(tmp_path / "mine.py"),)


def test_a_broker_on_the_command_line_takes_the_place_of_all_that_the_file_says_of_its_own() -> None:
    data = yaml.safe_load(RUN_YAML) | {"bus": {"url": "mqtts://other", "insecure": True}}
    given = Overrides(bus_url="mqtt://broker:1883", bus_user="rig", bus_password_env="RIG_BUS_PASSWORD")
    assert given.apply(data)["bus"] == {
        "url": "mqtt://broker:1883",
        "user": "rig",
        "password_env": "RIG_BUS_PASSWORD",
    }
    assert "--bus-url mqtt://broker:1883" in given.flags()


def test_a_user_on_the_command_line_is_one_for_the_files_broker() -> None:
    data = yaml.safe_load(RUN_YAML) | {"bus": {"url": "mqtt://other"}}
    assert Overrides(bus_user="me").apply(data)["bus"] == {"url": "mqtt://other", "user": "me"}
    assert "bus" not in Overrides(seed=1).apply(yaml.safe_load(RUN_YAML))
