"""Processes are found through dead parents, and a signal reaches exactly the process that was meant."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from rig.pipeline import tree

CHAIN = r"import os, signal; os.fork(); os.write(1, b'%d\n' % os.getpid()); signal.pause()"
"""One write a line: two processes share the pipe."""


@pytest.fixture
def sleeper() -> "subprocess.Popen[str]":
    return subprocess.Popen(["sleep", "600"], text=True)


def end(process: "subprocess.Popen[str]") -> None:
    with process:
        process.kill()


def test_a_signal_is_not_sent_to_whoever_has_the_pid_now(sleeper: "subprocess.Popen[str]") -> None:
    try:
        process = tree.read(sleeper.pid)
        assert process is not None
        former = replace(process, start_ticks=process.start_ticks - 1)
        assert not tree.send(former, signal.SIGKILL)
        assert sleeper.poll() is None
        assert tree.send(process, signal.SIGKILL)
        assert sleeper.wait() == -signal.SIGKILL
    finally:
        end(sleeper)


def test_a_zombie_is_gone(sleeper: "subprocess.Popen[str]") -> None:
    try:
        process = tree.read(sleeper.pid)
        assert process is not None
        sleeper.kill()
        os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
        now = tree.read(sleeper.pid)
        assert now is not None
        assert now.gone
        assert not tree.is_same(process)
        assert not tree.send(process, signal.SIGTERM)
    finally:
        end(sleeper)


def test_a_process_that_never_was_is_gone() -> None:
    assert tree.read(2**22 + 1) is None
    assert tree.title(2**22 + 1) == ""
    assert tree.name(2**22 + 1) == ""
    assert not tree.send(tree.Process(2**22 + 1, 1, 1, "S", 1), signal.SIGTERM)


def test_the_family_includes_orphans_of_a_dead_parent() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CHAIN], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as root:
        process = tree.read(root.pid)
        assert process is not None
        try:
            assert root.stdout is not None
            pids = {int(root.stdout.readline()), int(root.stdout.readline())}
            assert {member.pid for member in tree.family(process, tree.table())} == pids
            root.kill()
            root.wait()
            orphans = [member for member in tree.family(process, tree.table()) if not member.gone]
            assert {member.pid for member in orphans} == pids - {root.pid}
        finally:
            for member in tree.family(process, tree.table()):
                tree.send(member, signal.SIGKILL)


def test_descendants_come_parents_first() -> None:
    processes = {pid: tree.Process(pid, ppid, 1, "S", 1) for pid, ppid in [(5, 9), (9, 2), (2, 1), (3, 1), (7, 4)]}
    assert [process.pid for process in tree.descendants(1, processes)] == [2, 3, 9, 5]
