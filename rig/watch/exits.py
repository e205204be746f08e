"""How a process ended, for those who are not its parent.

Three sources, in this order: the warden, which reaps the server and its orphans; the kernel's PIDFD_GET_INFO
on a handle that was opened while the process lived (Linux 6.15, after the parent has reaped it); and the
zombie's own entry in /proc (before that). On an older kernel a parent that reaps at once can be quicker than
all three.
"""

import fcntl
import struct
import time
from collections.abc import Callable

from rig.pipeline import tree
from rig.pipeline.reports import Exit, exit_of_wait_status

PATIENCE_S = 0.1
RETRY_S = 0.005

# linux/pidfd.h: _IOWR(PIDFS_IOCTL_MAGIC, 11, struct pidfd_info), first published size of the struct.
_INFO_SIZE = 64
_PIDFD_GET_INFO = (3 << 30) | (_INFO_SIZE << 16) | (0xFF << 8) | 11
_PIDFD_INFO_EXIT = 1 << 3
_MASK = struct.Struct("Q")
_EXIT_CODE = struct.Struct("i")
_EXIT_CODE_OFFSET = 60
_STAT_EXIT_CODE = 49
"""Index of field 52 in `tree.stat_fields`."""


def how_it_ended(handle: int, process: tree.Process, told: Callable[[int], Exit | None]) -> Exit:
    """The exit of a process whose pidfd `handle` says it has ended; waits PATIENCE_S for an answer at most.

    `told` asks the parent that is on our side, the warden.
    """
    deadline = time.monotonic() + PATIENCE_S
    while True:
        found = told(process.pid) or _from_handle(handle) or _from_zombie(process)
        if found is not None:
            return found
        if time.monotonic() >= deadline:
            return Exit(None, None)
        time.sleep(RETRY_S)


def _from_handle(handle: int) -> Exit | None:
    info = bytearray(_INFO_SIZE)
    _MASK.pack_into(info, 0, _PIDFD_INFO_EXIT)
    try:
        fcntl.ioctl(handle, _PIDFD_GET_INFO, info)
    except OSError:  # a kernel that does not know the question
        return None
    (mask,) = _MASK.unpack_from(info, 0)
    if not mask & _PIDFD_INFO_EXIT:
        return None
    (wait_status,) = _EXIT_CODE.unpack_from(info, _EXIT_CODE_OFFSET)
    return exit_of_wait_status(wait_status)


def _from_zombie(process: tree.Process) -> Exit | None:
    fields = tree.stat_fields(process.pid)
    if fields is None or int(fields[19]) != process.start_ticks or fields[0] not in tree.GONE_STATES:
        return None
    return exit_of_wait_status(int(fields[_STAT_EXIT_CODE]))
