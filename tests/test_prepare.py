"""What a run needs before it begins: a mistake is one line, and there is no folder yet."""

import socket
from pathlib import Path

import pytest

from rig.config.overrides import Overrides
from rig.errors import ConfigError, UsageError
from rig.prepare import prepare
from tests.builders import GOLDEN_YAML, RUN_YAML


def files(folder: Path, faults: str = "none") -> Path:
    """A run file on a golden server with this fault."""
    golden = GOLDEN_YAML.replace("{seed: 7}", f"{{seed: 7, faults: ['{faults}']}}")
    (folder / "pipeline.yaml").write_text(golden, encoding="utf-8")
    path = folder / "run.yaml"
    path.write_text(RUN_YAML, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        ("dye:after_sessions=3", "did you mean `die`?"),
        ("die:after_sesions=3", "did you mean `after_sessions`?"),
        ("die:after_sessions=x", "correct the value"),
    ],
)
def test_a_fault_that_cannot_be_read_is_named_with_file_line_key_and_remedy(
    tmp_path: Path, fault: str, remedy: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        prepare(files(tmp_path, fault), tmp_path / "results")
    assert str(caught.value).startswith(f"{tmp_path / 'pipeline.yaml'}:")
    assert (caught.value.key, caught.value.remedy) == ("golden.faults", remedy)
    assert caught.value.line is not None
    assert not (tmp_path / "results").exists()


def test_metrics_and_the_web_ui_cannot_have_one_port(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(UsageError, match=f"cannot both have port {port}"):
        prepare(files(tmp_path), tmp_path / "results", Overrides(web_port=port, metrics_port=port))
    assert not (tmp_path / "results").exists()
