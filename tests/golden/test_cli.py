"""`rig serve golden` says what it can do, and what is wrong with what it was asked."""

import socket
from pathlib import Path

import pytest

from rig.cli import main
from rig.golden.faults import FAULTS


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
    assert f"cannot listen on 127.0.0.1 port {port}" in capsys.readouterr().err
