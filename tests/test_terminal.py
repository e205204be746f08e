"""A run on a real terminal, with its size, its Ctrl-C and its state before and after."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.metrics.conftest import run_file

pytestmark = pytest.mark.timeout(150)

LIMIT_S = 100
CTRL_C = b"\x03"
HIDDEN, SHOWN, CLEARED = "\x1b[?25l", "\x1b[?25h", "\x1b[H\x1b[2J"


class Terminal:
    """The side of a terminal on which a person sits."""

    def __init__(self, command: list[str], lines: int, columns: int) -> None:
        self._master, slave = pty.openpty()
        self.resize(lines, columns)
        self._before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=os.environ | {"TERM": "xterm-256color"},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - as with any shell
        )
        # It stays open here, so that its state can be asked for after the end.
        self._slave = slave
        self._chunks: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def text(self) -> str:
        """Everything that was written to it."""
        return b"".join(self._chunks).decode(errors="replace")

    @property
    def is_as_before(self) -> bool:
        """Whether its modes (echo and the like) are those from before."""
        return termios.tcgetattr(self._slave) == self._before

    def resize(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def wait_for(self, pattern: str, since: int = 0) -> int:
        """Until that was written after a position; the position behind it."""
        deadline = time.monotonic() + LIMIT_S
        while (found := re.search(pattern, self.text[since:])) is None:
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.text!r}"
            time.sleep(0.05)
        return since + found.end()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(20)
            self.process.kill()
            self.process.wait()
        os.close(self._slave)
        self._reader.join()

    def _read(self) -> None:
        with suppress(OSError):
            while chunk := os.read(self._master, 1 << 16):
                self._chunks.append(chunk)
        os.close(self._master)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    command = [sys.executable, "-m", "rig.cli", "run", str(run_file(tmp_path)), "--results", str(tmp_path / "results")]
    terminal = Terminal(command, 24, 80)
    yield terminal
    terminal.close()


def test_a_run_is_watched_resized_and_stopped_with_ctrl_c_pressed_twice(terminal: Terminal) -> None:
    terminal.wait_for(r"[1-9]\d* of \d+ ended")
    terminal.resize(24, 40)
    place = terminal.wait_for(re.escape(CLEARED))
    place = terminal.wait_for("rig: results in", place)
    terminal.type(CTRL_C)
    place = terminal.wait_for("rig: stopping: callers first", place)
    terminal.type(CTRL_C)
    place = terminal.wait_for("the run ended early: interrupted", place)
    terminal.wait_for("UNKNOWN: completeness", place)
    assert terminal.process.wait(LIMIT_S) == 2
    assert terminal.text.rfind(SHOWN) > terminal.text.rfind(HIDDEN) >= 0
    assert terminal.is_as_before
    assert "Traceback" not in terminal.text
