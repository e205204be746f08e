"""The `metrics` section, and the command line in its place."""

from pathlib import Path

import pytest
import yaml

from rig.config.load import load_both, load_run
from rig.config.metrics import DEFAULT_PORT
from rig.config.overrides import Overrides, written_with
from rig.errors import ConfigError
from tests.builders import PIPELINE_YAML, RUN_YAML, run_config


def files(folder: Path, section: str = "") -> Path:
    (folder / "pipeline.yaml").write_text(PIPELINE_YAML)
    path = folder / "run.yaml"
    path.write_text(RUN_YAML + section)
    return path


def test_without_a_section_nothing_is_served(tmp_path: Path) -> None:
    metrics = run_config(tmp_path).metrics
    assert (metrics.enabled, metrics.host, metrics.port) == (False, "127.0.0.1", DEFAULT_PORT)


@pytest.mark.parametrize("section", ["{port: 70000}", "{port: -1}", "{prot: 1}", "{linger_s: -1}", "{host: ''}"])
def test_a_wrong_setting_is_one_line(tmp_path: Path, section: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_run(files(tmp_path, f"metrics: {section}\n"))
    assert "\n" not in str(raised.value)
    assert "metrics." in str(raised.value)


def test_a_port_on_the_command_line_switches_it_on_and_keeps_the_rest(tmp_path: Path) -> None:
    path = files(tmp_path, "metrics: {linger_s: 5}\n")
    overrides = Overrides(metrics_port=0, metrics_host="0.0.0.0")
    config, _, _ = load_both(path, overrides)
    metrics = config.metrics
    assert (metrics.enabled, metrics.host, metrics.port, metrics.linger_s) == (True, "0.0.0.0", 0, 5)
    written = written_with(path, overrides)
    assert "# run.yaml with --metrics-port 0 --metrics-host 0.0.0.0" in written
    assert yaml.safe_load(written)["metrics"]["enabled"] is True


def test_a_host_alone_switches_nothing_on(tmp_path: Path) -> None:
    config, _, _ = load_both(files(tmp_path), Overrides(metrics_host="::1"))
    assert (config.metrics.enabled, config.metrics.host) == (False, "::1")
