"""How a process ended is known to others than its parent, before and after that has reaped it."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from rig.pipeline import tree
from rig.pipeline.reports import Exit
from rig.watch.exits import how_it_ended

CHILD = "import os, signal; signal.signal(signal.SIGUSR1, lambda *_: os._exit(3)); print(flush=True)"
CHILD += "; signal.pause()"


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def nobody(pid: int) -> Exit | None:
    return None


def ended(child: "subprocess.Popen[bytes]", signum: int, reap: bool) -> Exit:
    process = tree.read(child.pid)
    assert process is not None
    handle = os.pidfd_open(child.pid)
    try:
        child.send_signal(signum)
        assert select.select([handle], [], [], 30)[0]
        if reap:
            child.wait()
        return how_it_ended(handle, process, nobody)
    finally:
        os.close(handle)


@pytest.mark.parametrize(
    ("signum", "expected"),
    [
        (signal.SIGKILL, Exit(None, "SIGKILL")),
        (signal.SIGTERM, Exit(None, "SIGTERM")),
        (signal.SIGUSR1, Exit(3, None)),
    ],
)
def test_a_zombie_tells_how_it_ended(child: "subprocess.Popen[bytes]", signum: int, expected: Exit) -> None:
    assert ended(child, signum, reap=False) == expected


def test_the_kernel_tells_it_after_the_parent_has_reaped(child: "subprocess.Popen[bytes]") -> None:
    kernel = tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
    expected = Exit(3, None) if kernel >= (6, 15) else Exit(None, None)
    assert ended(child, signal.SIGUSR1, reap=True) == expected


def test_the_word_of_the_warden_goes_first(child: "subprocess.Popen[bytes]") -> None:
    process = tree.read(child.pid)
    assert process is not None
    handle = os.pidfd_open(child.pid)
    child.kill()
    child.wait()
    told = Exit(7, None)
    assert how_it_ended(handle, process, lambda pid: told if pid == child.pid else None) == told
    os.close(handle)
