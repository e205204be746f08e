"""How a process ended, in words."""

import pytest

from rig.pipeline.reports import Exit, Reaped, Started, decode, exit_of, exit_of_wait_status


@pytest.mark.parametrize(
    ("wait_status", "expected", "words"),
    [
        (0, Exit(0, None), "exited with status 0"),
        (3 << 8, Exit(3, None), "exited with status 3"),
        (9, Exit(None, "SIGKILL"), "was killed by SIGKILL"),
        (0x80 | 11, Exit(None, "SIGSEGV"), "was killed by SIGSEGV"),
    ],
)
def test_a_wait_status_is_an_exit_or_a_signal(wait_status: int, expected: Exit, words: str) -> None:
    assert exit_of_wait_status(wait_status) == expected
    assert str(expected) == words


def test_a_signal_without_a_name_is_called_by_its_number() -> None:
    assert exit_of(None, 40) == Exit(None, "SIG40")


def test_not_told_is_not_zero() -> None:
    assert str(Exit(None, None)) == "ended (nobody was told how)"


def test_reports_are_told_apart() -> None:
    assert decode('{"event": "started", "pid": 5, "start_ticks": 9}') == Started(5, 9)
    assert decode('{"event": "reaped", "pid": 5, "t_ns": 1, "exit_status": null, "signal": 9}') == Reaped(5, 1, None, 9)
