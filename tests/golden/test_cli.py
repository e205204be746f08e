"""`rig serve golden` says what it can do, and what is wrong with what it was asked."""

import socket
from pathlib import Path

import pytest

from rig.cli import main
from rig.golden.faults import FAULTS
from tests.builders import GOLDEN_YAML, RUN_YAML


def test_the_faults_are_listed_with_their_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "golden", "--list-faults"]) == 0
    text = capsys.readouterr().out
    assert [line.split(":")[0] for line in text.splitlines() if not line.startswith(" ")] == list(FAULTS)
    assert "seen by: liveness; settings: after_sessions=0, after_s=0.0, p=1.0, times=1, status=1" in text


def test_the_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "golden", "--help"])
    assert "--fault die:after_sessions=3" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--fault", "dye"], "unknown fault 'dye'"),
        (["--chunk-ms", "1010"], "--chunk-ms: Value error, a token lasts 40 ms"),
        (["--record", "/no/such/folder/x"], "cannot create"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_status_3(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "golden", "--port", "0", *arguments]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line


def test_a_port_that_is_taken_is_one_line_and_status_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["serve", "golden", "--port", str(port)]) == 3
    assert capsys.readouterr().err == f"rig: cannot listen on 127.0.0.1 port {port}: Address already in use\n"


def test_a_run_whose_golden_server_cannot_have_its_port_begins_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (tmp_path / "pipeline.yaml").write_text(f"{GOLDEN_YAML}port: {port}\n")
        (tmp_path / "run.yaml").write_text(RUN_YAML)
        assert main(["run", str(tmp_path / "run.yaml"), "--results", str(tmp_path / "results")]) == 3
    told = f"rig: cannot listen on 127.0.0.1 port {port}: Address already in use; port 0 takes a free one\n"
    assert capsys.readouterr().err == told
    assert not (tmp_path / "results").exists()
