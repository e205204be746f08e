"""The warden: starts one server, reports what it reaps, and ends the whole tree when asked or left alone."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rig.pipeline import tree
from rig.pipeline.warden import STOPPING
from tests.pipeline.fake import wait_for_end

SHELL = "/bin/sh"
ORPHAN_SCRIPT = f"({SHELL} -c 'kill -9 $$' &); echo hello; exec sleep 600"
"""A grandchild that dies as an orphan, and a server that stays."""

Warden = subprocess.Popen[str]


@pytest.fixture
def warden() -> Iterator[Warden]:
    with subprocess.Popen(
        [sys.executable, "-m", "rig.pipeline.warden"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process


def tell(warden: Warden, **command: object) -> None:
    assert warden.stdin is not None
    warden.stdin.write(json.dumps(command) + "\n")
    warden.stdin.flush()


def start(warden: Warden, folder: Path, *argv: str, nice: int = 0) -> None:
    place = {"cwd": str(folder), "log": str(folder / "log")}
    tell(warden, argv=argv, env=dict(os.environ), grace_s=10.0, nice=nice, **place)


def hear(warden: Warden, event: str) -> dict[str, Any]:
    """The next report of a kind; the test's own time limit ends a wait in vain."""
    assert warden.stdout is not None
    for line in warden.stdout:
        report: dict[str, Any] = json.loads(line)
        if report["event"] == event:
            return report
    raise AssertionError(f"the warden ended without reporting {event}")


def test_the_end_of_its_input_ends_the_server(warden: Warden, tmp_path: Path) -> None:
    start(warden, tmp_path, "sleep", "600")
    server = tree.read(hear(warden, "started")["pid"])
    assert server is not None
    assert warden.stdin is not None
    warden.stdin.close()
    assert hear(warden, "reaped")["signal"] == signal.SIGTERM
    assert hear(warden, "stopped")["forced"] == []
    assert warden.wait() == 0
    wait_for_end([server])


def test_a_stop_is_only_carried_out(warden: Warden, tmp_path: Path) -> None:
    start(warden, tmp_path, "sleep", "600")
    hear(warden, "started")
    tell(warden, stop=True)
    assert warden.stdout is not None
    assert [json.loads(line)["event"] for line in warden.stdout] == ["reaped", "stopped"]
    assert tree.name(warden.pid) != STOPPING


def test_a_sigterm_is_told_before_it_is_carried_out_as_a_stop(warden: Warden, tmp_path: Path) -> None:
    start(warden, tmp_path, "sleep", "600")
    hear(warden, "started")
    assert tree.name(warden.pid) != STOPPING
    warden.send_signal(signal.SIGTERM)
    hear(warden, "stopping")
    assert tree.name(warden.pid) == STOPPING
    assert warden.stdout is not None
    told = [json.loads(line) for line in warden.stdout]
    assert [report["event"] for report in told] == ["reaped", "stopped"]
    assert told[-1]["left"] == []


def test_ctrl_c_is_not_for_the_warden_but_is_for_the_server(warden: Warden, tmp_path: Path) -> None:
    start(warden, tmp_path, "sleep", "600")
    server = hear(warden, "started")["pid"]
    warden.send_signal(signal.SIGINT)
    os.kill(server, signal.SIGINT)
    assert hear(warden, "reaped")["signal"] == signal.SIGINT, "an ignored signal would be inherited"
    tell(warden, stop=True)
    assert hear(warden, "stopped")["forced"] == []


def test_orphans_of_the_server_are_reaped_and_reported(warden: Warden, tmp_path: Path) -> None:
    start(warden, tmp_path, SHELL, "-c", ORPHAN_SCRIPT)
    server = hear(warden, "started")["pid"]
    # The subshell in between ends first, then its child is the warden's.
    while (report := hear(warden, "reaped"))["signal"] != signal.SIGKILL:
        assert report["pid"] != server
    tell(warden, stop=True)
    assert hear(warden, "stopped")["forced"] == []
    assert (tmp_path / "log").read_text() == "hello\n"


def test_a_server_that_leaves_its_session_does_not_escape(warden: Warden, tmp_path: Path) -> None:
    start(warden, tmp_path, SHELL, "-c", "setsid sleep 600 & echo $! > pid; wait")
    server = tree.read(hear(warden, "started")["pid"])
    assert server is not None
    while not (children := tree.descendants(server.pid, tree.table())):
        assert tree.is_same(server)
    tell(warden, stop=True)
    assert hear(warden, "stopped")["left"] == []
    wait_for_end([server, *children])


def test_a_nice_server_yields_to_other_sessions_too(warden: Warden, tmp_path: Path) -> None:
    """With autogroups a process's own value counts only among those of its session."""
    group = Path("/proc/self/autogroup")
    start(warden, tmp_path, SHELL, "-c", f"nice; cat {group}", nice=7)
    assert hear(warden, "reaped")["exit_status"] == (0 if group.exists() else 1)
    own, *groups = (tmp_path / "log").read_text().splitlines()
    assert int(own) == min(19, os.nice(0) + 7)
    assert not group.exists() or groups[0].endswith("nice 7")
    tell(warden, stop=True)
    hear(warden, "stopped")


def test_a_program_that_is_not_there_is_told_in_the_log(warden: Warden, tmp_path: Path) -> None:
    start(warden, tmp_path, "/no/such/program")
    assert hear(warden, "reaped")["exit_status"] == 127
    assert "cannot start /no/such/program: No such file or directory" in (tmp_path / "log").read_text()
    tell(warden, stop=True)
    hear(warden, "stopped")
