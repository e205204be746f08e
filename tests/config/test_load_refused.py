"""Config files that would never end to be read, and names that no file can have, are one line each."""

from pathlib import Path

import pytest

from rig.config.load import load_both
from rig.errors import ConfigError
from tests.builders import RUN_YAML
from tests.config.test_load import run_error, write


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("question: &a [*a]\n", "stands in itself", id="an alias of itself"),
        pytest.param("load: &a {load: *a}\n", "stands in itself", id="a mapping in itself"),
        pytest.param("load: " + "{a: " * 200 + "1" + "}" * 200, "nested too deeply", id="deep"),
        pytest.param("load: " + "[" * 20_000, "nested too deeply", id="too deep to be read"),
    ],
)
def test_what_has_no_end_or_is_too_deep_is_one_line(tmp_path: Path, text: str, problem: str) -> None:
    found = run_error(tmp_path, text)
    assert problem in found
    assert "\n" not in found


@pytest.mark.parametrize("name", ['"x\\0.yaml"', "x" * 300 + ".yaml"], ids=["NUL", "too long"])
def test_a_name_that_no_file_can_have_is_no_pipeline_file(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, RUN_YAML.replace("pipeline: pipeline.yaml", f"pipeline: {name}"))
    with pytest.raises(ConfigError, match="there is no file"):
        load_both(path)


def test_a_folder_is_not_proposed_as_the_pipeline_file(tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").mkdir()
    with pytest.raises(ConfigError) as caught:
        load_both(write(tmp_path, RUN_YAML))
    assert "did you mean `pipeline.yaml`" not in str(caught.value)
