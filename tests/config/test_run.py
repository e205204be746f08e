"""The run file: settings that do not go together are named."""

from pathlib import Path

import pytest

from rig.config.load import load_run
from rig.errors import ConfigError
from tests.builders import RUN_YAML, run_config

EVERY = "slots: {every_s: 5}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            RUN_YAML + "slots: {probe: false, every_s: 5}\n",
            "`slots.every_s` has no meaning without `slots.probe`",
            id="no probe",
        ),
        pytest.param(
            RUN_YAML.replace("  callers: 1\n", "  callers: 1\n  ramp: {up_s: 1}\n") + EVERY,
            "`slots.every_s` needs closed arrivals without a ramp: the load stops for each probe",
            id="ramp",
        ),
        pytest.param(
            RUN_YAML.replace("  pause_s: {low: 0.1, high: 0.2}\n", "  arrivals: {kind: poisson, rate: 1}\n") + EVERY,
            "`slots.every_s` needs closed arrivals without a ramp: the load stops for each probe",
            id="open loop",
        ),
    ],
)
def test_a_load_is_interrupted_for_probes_only_where_that_can_be(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_run(path)
    assert message in str(caught.value)


@pytest.mark.parametrize(("every_s", "rounds_s"), [(5, (5.0, 5.0)), (3, (10 / 3,) * 3), (60, (10.0,))])
def test_the_parts_of_a_load_are_equal_and_about_as_long_as_asked_for(
    tmp_path: Path, every_s: int, rounds_s: tuple[float, ...]
) -> None:
    assert run_config(tmp_path, RUN_YAML + f"slots: {{every_s: {every_s}}}\n").rounds_s == rounds_s
