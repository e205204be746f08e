"""A side of a comparison: what is written, and what becomes of a pipeline file."""

from pathlib import Path

import pytest
import yaml

from rig.config.load import load_pipeline
from rig.config.pipeline import GoldenPipeline, PipelineConfig
from rig.config.variant import parse
from rig.errors import ConfigError, UsageError
from tests.builders import EXTERNAL_YAML, GOLDEN_YAML, PIPELINE_YAML


def pipeline(folder: Path, text: str) -> Path:
    path = folder / "pipeline.yaml"
    path.write_text(text)
    return path


def test_none_is_the_server_as_it_is() -> None:
    variant = parse(" none ")
    assert (variant.spec, variant.patches, variant.faults) == ("none", (), ())


def test_patches_stand_with_commas_between_and_take_the_place_of_the_files(tmp_path: Path) -> None:
    path = pipeline(tmp_path, PIPELINE_YAML + "patches: [moriio_async_read]\n")
    config = load_pipeline(path, edit=parse("scheduler_zombies, scheduler_guard_only").apply)
    assert isinstance(config, PipelineConfig)
    assert config.patches == ("scheduler_zombies", "scheduler_guard_only")
    bare = load_pipeline(path, edit=parse("none").apply)
    assert isinstance(bare, PipelineConfig)
    assert bare.patches == ()


def test_golden_faults_may_have_settings_with_commas(tmp_path: Path) -> None:
    variant = parse("fault:die:after_sessions=2,p=0.5,fault:drop")
    assert variant.faults == ("die:after_sessions=2,p=0.5", "drop")
    config = load_pipeline(pipeline(tmp_path, GOLDEN_YAML), edit=variant.apply)
    assert isinstance(config, GoldenPipeline)
    assert config.golden.faults == variant.faults


def test_a_side_may_have_a_bug_that_the_other_has_not(tmp_path: Path) -> None:
    variant = parse("bug:zombie_in_running,scheduler_zombies", ("slot_lost_on_abort",))
    config = load_pipeline(pipeline(tmp_path, PIPELINE_YAML), edit=variant.apply)
    assert isinstance(config, PipelineConfig)
    assert config.bugs == ("slot_lost_on_abort", "zombie_in_running")
    assert config.patches == ("scheduler_zombies",)


def test_a_bug_that_is_a_file_lies_in_the_current_folder_whatever_folder_the_pipeline_file_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    variant = parse("bug:mine.py, scheduler_zombies")
    assert variant.spec == f"bug:{here / 'mine.py'},scheduler_zombies"
    config = load_pipeline(pipeline(tmp_path, PIPELINE_YAML), edit=variant.apply)
    assert isinstance(config, PipelineConfig)
    assert config.bugs == (str(here / "mine.py"),)


@pytest.mark.parametrize("spec", ["no_such_patch", "none,scheduler_zombies", "", "p=0.5", "scheduler_zombies,,"])
def test_what_is_neither_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="is no patch; give `none`"):
        parse(spec)


def test_a_misspelt_patch_is_told_with_the_nearest_one() -> None:
    with pytest.raises(UsageError, match=r"'scheduler_zombie' is no patch; .*; did you mean `scheduler_zombies`"):
        parse("scheduler_zombie")


def test_a_variant_that_does_not_fit_its_pipeline_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the golden server has no engine"):
        load_pipeline(pipeline(tmp_path, GOLDEN_YAML), edit=parse("scheduler_zombies").apply)
    with pytest.raises(UsageError, match="the golden server has no engine"):
        load_pipeline(pipeline(tmp_path, GOLDEN_YAML), edit=parse("none", ("a_bug",)).apply)
    with pytest.raises(UsageError, match="only the golden server has faults"):
        load_pipeline(pipeline(tmp_path, PIPELINE_YAML), edit=parse("fault:die").apply)
    with pytest.raises(UsageError, match="somebody else runs"):
        load_pipeline(pipeline(tmp_path, EXTERNAL_YAML), edit=parse("none").apply)


def test_bugs_are_added_to_those_of_the_file() -> None:
    variant = parse("none", ("one", "two"))
    assert variant.apply({"bugs": ["two", "three"]})["bugs"] == ["two", "three", "one"]
    assert variant.apply({})["bugs"] == ["one", "two"]
    assert "bugs" not in parse("none").apply({})


def test_what_is_written_is_read_as_what_was_run(tmp_path: Path) -> None:
    path = pipeline(tmp_path, PIPELINE_YAML)
    variant = parse("scheduler_zombies")
    written = tmp_path / "written.yaml"
    written.write_text(variant.written(path))
    assert load_pipeline(written) == load_pipeline(path, edit=variant.apply)
    assert yaml.safe_load(written.read_text())["patches"] == ["scheduler_zombies"]


def test_a_mistake_in_the_file_is_still_told_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="memory_gb"):
        load_pipeline(pipeline(tmp_path, PIPELINE_YAML + "memory_gb: 3\n"), edit=parse("none").apply)
