"""Every file under configs/ is read by a test; a file of a new kind has to be told to this one."""

from pathlib import Path

import pytest

from rig.config.gate import GateConfig
from rig.config.load import load_both, load_model, load_pipeline

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
FILES = sorted(path.relative_to(CONFIGS) for path in CONFIGS.rglob("*") if path.is_file())


def test_there_are_shipped_configs() -> None:
    assert FILES


@pytest.mark.parametrize("name", FILES, ids=str)
def test_a_shipped_config_is_good(name: Path) -> None:
    kind = name.parts[0]
    if kind == "mosquitto":
        return  # tests/bus/test_mosquitto.py starts a broker with it
    if name == Path("gate.yaml"):
        assert load_model(CONFIGS / name, GateConfig).question.endswith("?")
        return
    if kind in ("prometheus", "grafana"):
        return  # tests/metrics/test_dashboard.py reads them
    assert kind in ("runs", "pipelines"), f"say here how {name} is read"
    if kind == "runs":
        run, _, _ = load_both(CONFIGS / name)
        assert run.question.endswith("?")
    else:
        assert load_pipeline(CONFIGS / name).question.endswith("?")


@pytest.mark.parametrize("name", [name for name in FILES if name.suffix != ".json"], ids=str)
def test_a_shipped_config_opens_with_its_question(name: Path) -> None:
    first = (CONFIGS / name).read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert "?" in first
