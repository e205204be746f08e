"""Process trees as /proc tells them, and signals that cannot hit a stranger.

Standard library only: the warden runs on this too, and must start fast. A process is named by pid and start
time (field 22 of /proc/pid/stat), so a pid that the kernel has given to somebody else is never taken for the
old one.
"""

import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

GONE_STATES = "ZXx"
ORPHAN_GRACE_S = 5.0
TERM_GRACE_S = 3.0
KILL_DEADLINE_S = 20.0
POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Process:
    """One process at one moment; `state` is the letter of /proc/pid/stat."""

    pid: int
    ppid: int
    session: int
    state: str
    start_ticks: int

    @property
    def gone(self) -> bool:
        """True for a zombie: it does nothing any more, only its exit status is still there."""
        return self.state in GONE_STATES


def stat_fields(pid: int) -> list[str] | None:
    """Fields 3 and up of /proc/pid/stat (index 0 is the state), None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name, field 2, may itself hold spaces and brackets.
    return text[text.rindex(")") + 2 :].split()


def read(pid: int) -> Process | None:
    """The process with this pid, None when there is none."""
    fields = stat_fields(pid)
    if fields is None:
        return None
    return Process(pid, int(fields[1]), int(fields[3]), fields[0], int(fields[19]))


def is_same(process: Process) -> bool:
    """Whether this very process still runs (a zombie does not)."""
    now = read(process.pid)
    return now is not None and now.start_ticks == process.start_ticks and not now.gone


def table() -> dict[int, Process]:
    """Every process of this machine by pid."""
    found = (read(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def descendants(root: int, processes: dict[int, Process]) -> list[Process]:
    """Children of `root`, their children and so on; parents before children, `root` not included."""
    children: dict[int, list[Process]] = {}
    for process in processes.values():
        children.setdefault(process.ppid, []).append(process)
    found: list[Process] = []
    frontier = [root]
    while frontier:
        level = [child for pid in frontier for child in children.get(pid, ())]
        found.extend(level)
        frontier = [child.pid for child in level]
    return found


def family(root: Process, processes: dict[int, Process]) -> list[Process]:
    """All that stems from `root`, itself included, also after `root` and the parents in between have died.

    Orphans are found by their session: `root` leads its own, and a session id is not given out again while it
    has members. What is older than `root` cannot stem from it.
    """
    members = {
        process.pid: process
        for process in processes.values()
        if process.session == root.pid and process.start_ticks >= root.start_ticks
    }
    for pid in [root.pid, *members]:
        for process in descendants(pid, processes):
            if process.start_ticks >= root.start_ticks:
                members.setdefault(process.pid, process)
    return list(members.values())


def title(pid: int) -> str:
    """The command line or title of a process in one line, empty when it is gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            raw = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return " ".join(raw.decode(errors="replace").replace("\0", " ").split())


def name(pid: int) -> str:
    """The kernel's short name of a process (`comm`, 15 characters), empty when it is gone."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().rstrip("\n")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def send(process: Process, signum: int) -> bool:
    """Signal exactly this process; False when it is gone, whoever has its pid now."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        # The handle pins whoever has the pid now; only then the identity is compared.
        if not is_same(process):
            return False
        signal.pidfd_send_signal(handle, signum)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True


@dataclass(frozen=True)
class Stopped:
    """How a tree was stopped: pids that had to be killed, and pids that are still there all the same."""

    forced: list[int]
    left: list[int]


def stop(
    root: Process | None,
    members: Callable[[], Iterable[Process]],
    grace_s: float,
    pause: Callable[[float], None] = time.sleep,
) -> Stopped:
    """Stop a tree in order: ask `root`, give it `grace_s`, then end what is left, deepest first.

    `members` lists what is alive now, parents first. `pause` waits; its caller may use the time to reap.
    """
    if root is not None:
        send(root, signal.SIGTERM)
        _until(lambda: not is_same(root), grace_s, pause)
        # Whoever outlived the grace is killed at once; the others only have to notice that their parent left.
        if is_same(root):
            return _kill(members, pause)
    if _until(lambda: not list(members()), ORPHAN_GRACE_S, pause):
        return Stopped([], [])
    for process in reversed(list(members())):
        send(process, signal.SIGTERM)
    _until(lambda: not list(members()), TERM_GRACE_S, pause)
    return _kill(members, pause)


def _kill(members: Callable[[], Iterable[Process]], pause: Callable[[float], None]) -> Stopped:
    forced: list[int] = []
    deadline = time.monotonic() + KILL_DEADLINE_S
    # Again and again: a process may have started another one while its siblings were being killed.
    while left := list(members()):
        if time.monotonic() > deadline:
            return Stopped(forced, [process.pid for process in left])
        for process in reversed(left):
            if send(process, signal.SIGKILL) and process.pid not in forced:
                forced.append(process.pid)
        pause(POLL_S)
    return Stopped(forced, [])


def _until(condition: Callable[[], bool], limit_s: float, pause: Callable[[float], None]) -> bool:
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() >= deadline:
            return False
        pause(POLL_S)
    return True
