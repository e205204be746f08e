"""Arguments that cannot be are refused by the parser, in one line."""

from argparse import ArgumentTypeError
from collections.abc import Callable

import pytest

from rig.arguments import above_zero, count, port, port_or_free
from rig.cli import build_parser


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        *((above_zero, text) for text in ("0", "-1", "inf", "nan")),
        *((count, text) for text in ("0", "-1")),
        *((port, text) for text in ("0", "-1", "65536")),
        *((port_or_free, text) for text in ("-1", "65536")),
    ],
)
def test_what_cannot_be_is_named(kind: Callable[[str], float], text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"^{text} is "):
        kind(text)


def test_what_can_be_is_taken() -> None:
    assert (above_zero("0.5"), count("1"), port("65535"), port_or_free("0")) == (0.5, 1, 65_535, 0)


@pytest.mark.parametrize(
    "line",
    [
        "host --token-file t --serve-port 70000",
        "run run.yaml --web-port 0",
        "run run.yaml --metrics-port 70000",
        "serve golden --port 70000",
    ],
)
def test_every_command_looks_at_its_ports(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        build_parser().parse_args(line.split())
    assert stopped.value.code == 3
    assert "is no port; give one from" in capsys.readouterr().err
