"""The golden server's command line says what its pipeline file says, and is one that `rig serve golden` takes."""

import sys
from pathlib import Path

from rig.cli import build_parser
from rig.config.pipeline import Duplex, Golden, GoldenPipeline
from rig.pipeline.golden import RECORD_FILE, launch


def config(**golden: object) -> GoldenPipeline:
    return GoldenPipeline(
        question="Is the golden server started as its file says?",
        hardware_label="test",
        golden=Golden.model_validate(golden),
        duplex_session=Duplex(max_sessions=3, disconnect_grace_s=1.5),
    )


def test_every_setting_of_the_file_arrives(tmp_path: Path) -> None:
    settings = {"seed": 9, "reply_s": 1.25, "pace_ms": 70, "chunk_ms": 80, "faults": ("die:times=1", "leak")}
    started = launch(config(**settings), tmp_path, 8099, {"PATH": "/bin"})
    assert started.argv[:3] == (sys.executable, "-m", "rig.cli")
    taken = build_parser().parse_args(list(started.argv[3:]))
    assert (taken.host, taken.port, taken.record) == ("127.0.0.1", 8099, tmp_path / RECORD_FILE)
    assert {key: getattr(taken, key) for key in settings} == {**settings, "faults": ["die:times=1", "leak"]}
    assert (taken.max_sessions, taken.disconnect_grace_s) == (3, 1.5)
    assert started.env == {"PATH": "/bin"}
    assert started.url == "ws://127.0.0.1:8099"


def test_no_setting_is_left_to_a_default_of_the_command_line(tmp_path: Path) -> None:
    words = launch(config(), tmp_path, 1, {}).argv
    expected = {f"--{name.replace('_', '-')}" for model in (Golden, Duplex) for name in model.model_fields}
    assert expected - set(words) == {"--faults"}
