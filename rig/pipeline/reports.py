"""What the warden tells the rig, one JSON line each."""

import signal

import msgspec


class Started(msgspec.Struct, frozen=True, tag_field="event", tag="started"):
    """The server's first process is there."""

    pid: int
    start_ticks: int


class Reaped(msgspec.Struct, frozen=True, tag_field="event", tag="reaped"):
    """The server or an orphan of its tree has ended; one of `exit_status` and `signal` is set."""

    pid: int
    t_ns: int
    exit_status: int | None
    signal: int | None


class Stopping(msgspec.Struct, frozen=True, tag_field="event", tag="stopping"):
    """The warden stops the tree and was not asked to by the rig: somebody sent it SIGTERM."""


class Stopped(msgspec.Struct, frozen=True, tag_field="event", tag="stopped"):
    """The tree was stopped: pids that were killed, pids that could not be, and what was in shared memory.

    Of the segments the first names and how many there are, for a server may leave more than a line can hold; None
    where nobody looked.
    """

    forced: list[int]
    left: list[int]
    segments_removed: list[str] = msgspec.field(default_factory=list)
    segments_left: list[str] = msgspec.field(default_factory=list)
    removed_in_all: int | None = None
    left_in_all: int | None = None


Report = Started | Reaped | Stopping | Stopped
decode = msgspec.json.Decoder(Report).decode


class Exit(msgspec.Struct, frozen=True):
    """How a process ended; both are None when nobody was told."""

    status: int | None
    signal: str | None

    def __str__(self) -> str:
        if self.signal is not None:
            return f"was killed by {self.signal}"
        if self.status is not None:
            return f"exited with status {self.status}"
        return "ended (nobody was told how)"


def exit_of(status: int | None, signum: int | None) -> Exit:
    """An exit from what a parent is told; a signal without a name is called by its number."""
    if signum is None:
        return Exit(status, None)
    try:
        return Exit(None, signal.Signals(signum).name)
    except ValueError:
        return Exit(None, f"SIG{signum}")


def exit_of_wait_status(wait_status: int) -> Exit:
    """An exit from the kernel's wait status (as in wait(2))."""
    signum = wait_status & 0x7F
    return exit_of(None, signum) if signum else exit_of((wait_status >> 8) & 0xFF, None)
