"""The warden: a small process between the rig and the server, so that nothing outlives the rig.

The rig holds its standard input open. One JSON line starts the server; `{"stop": true}` stops it in order;
the end of the input means that the rig is gone, however it died, and stops it too. As child subreaper the
warden is the ancestor of every process of the server for as long as that runs, so "the server's tree" is
exactly its descendants. What it reaps it reports as JSON lines on its standard output. Standard library only.
"""

import ctypes
import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from typing import Any, NoReturn

from rig.pipeline import tree
from rig.pipeline.segments import Segments

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
EXIT_NOT_STARTED = 127
SEGMENT_SCAN_S = 5.0
NAMED_SEGMENTS = 20
"""Of those removed and of those left; the rig reads lines of up to 64 KiB, and one that leaks may leave thousands."""
CONTROL_FD = 0
REPORT_FD = 1
STOPPING = "rig-stopping"
"""Name of a warden that stops the tree because of a SIGTERM, in /proc/PID/comm."""
AUTOGROUP = "/proc/self/autogroup"

_libc = ctypes.CDLL(None, use_errno=True)


class Warden:
    """One server, from its start to its end."""

    def __init__(self) -> None:
        if _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "cannot become the reaper of the server's orphans")
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        self._stop_asked = False
        self._terminated = False
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._on_sigterm)
        # Ctrl-C is the rig's to handle: it stops in order.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._control = b""
        self._root: tree.Process | None = None
        self._grace_s = 0.0
        self._segments = Segments()

    def run(self) -> int:
        """Serve until the server is to stop and is gone; 0 when nothing is left."""
        while not self._stop_asked:
            self._wait(SEGMENT_SCAN_S)
            self._segments.observe(process.pid for process in self._members())
        if self._terminated:
            # Before the first process is asked: whoever sees it end can tell why by the warden's name.
            with open("/proc/self/comm", "w", encoding="utf-8") as name:
                name.write(STOPPING)
            report(event="stopping")
        stopped = tree.stop(self._root, self._members, self._grace_s, pause=self._pause)
        self._reap()
        removed, left = self._segments.clean()
        report(
            event="stopped",
            forced=stopped.forced,
            left=stopped.left,
            segments_removed=removed[:NAMED_SEGMENTS],
            segments_left=left[:NAMED_SEGMENTS],
            removed_in_all=len(removed),
            left_in_all=len(left),
        )
        return 1 if stopped.left else 0

    def _on_sigterm(self, *_: object) -> None:
        self._stop_asked = self._terminated = True

    def _members(self) -> list[tree.Process]:
        return [process for process in tree.descendants(os.getpid(), tree.table()) if not process.gone]

    def _wait(self, timeout_s: float) -> None:
        readable, _, _ = select.select([CONTROL_FD, self._wake_read], [], [], timeout_s)
        if self._wake_read in readable:
            os.read(self._wake_read, 4096)
        self._reap()
        if CONTROL_FD in readable:
            self._read_control()

    def _pause(self, seconds: float) -> None:
        # While stopping, the control pipe says nothing new: it may well be at its end.
        select.select([self._wake_read], [], [], seconds)
        self._reap()

    def _read_control(self) -> None:
        data = os.read(CONTROL_FD, 65_536)
        if not data:
            self._stop_asked = True
        *lines, self._control = (self._control + data).split(b"\n")
        for line in lines:
            command = json.loads(line)
            if "stop" in command:
                self._stop_asked = True
            else:
                self._start(command)

    def _start(self, command: dict[str, Any]) -> None:
        self._grace_s = command["grace_s"]
        log = os.open(command["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        running, starting = os.pipe2(os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            _become_server(command, log)
        os.close(log)
        os.close(starting)
        # Ends when the child has become the server (or failed): with its own session, and signals in order.
        os.read(running, 1)
        os.close(running)
        self._root = tree.read(pid)
        assert self._root is not None, "an unreaped child always has an entry in /proc"
        report(event="started", pid=pid, start_ticks=self._root.start_ticks)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            report(
                event="reaped",
                pid=pid,
                t_ns=time.monotonic_ns(),
                exit_status=code if code >= 0 else None,
                signal=-code if code < 0 else None,
            )


def _become_server(command: dict[str, Any], log: int) -> NoReturn:
    try:
        os.setsid()
        # Should the warden be killed as well, the server is at least asked to stop.
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if command["nice"] > 0:
            _yield_cores(command["nice"])
        signal.set_wakeup_fd(-1)
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(signum, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(command["cwd"])
        os.execvpe(command["argv"][0], command["argv"], command["env"])
    except OSError as error:
        os.write(2, f"OSError: cannot start {command['argv'][0]}: {error.strerror}\n".encode())
    finally:
        os._exit(EXIT_NOT_STARTED)


def _yield_cores(nice: int) -> None:
    """Let everybody else go first.

    Where the kernel groups tasks by session (autogroup, sched(7)), a process's own value counts only within its
    session. What counts against the callers, who have another session, is then the session's value.
    """
    os.nice(nice)
    with suppress(OSError):  # this kernel has none
        group = os.open(AUTOGROUP, os.O_WRONLY | os.O_CLOEXEC)
        os.write(group, str(nice).encode())


def report(**fields: object) -> None:
    """Tell the rig; when the rig is gone there is nobody to tell, and the server still has to be stopped."""
    try:
        os.write(REPORT_FD, json.dumps(fields).encode() + b"\n")
    except BrokenPipeError:
        return


if __name__ == "__main__":
    sys.exit(Warden().run())
