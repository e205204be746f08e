"""Shared memory segments (/dev/shm) of the server's tree: which are its own, and what it left behind.

A segment is its own when a process of the tree was seen to map it and it was not there before the server
started. Only such a segment is removed, and only when no process maps it any more. Segments are told apart by
inode: the C library maps a named semaphore under another name than it has in the end. Standard library only,
for the warden.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path

FOLDER = Path("/dev/shm")
# address perms offset device inode path
_MAPPED = re.compile(rf"^\S+ \S+ \S+ \S+ (\d+) +{FOLDER}/", re.MULTILINE)


class Segments:
    """Bookkeeping from before the server starts until it is gone."""

    def __init__(self) -> None:
        self._before = set(_listing().values())
        self._own: set[int] = set()

    def observe(self, pids: Iterable[int]) -> None:
        """Note what these processes of the tree map now."""
        for pid in pids:
            self._own |= mapped(pid) - self._before

    def clean(self) -> tuple[list[str], list[str]]:
        """Remove the tree's own segments: names that were removed, and new names that were left alone.

        The second list may hold segments of other programs: nobody can tell whose they are.
        """
        new = {name: inode for name, inode in _listing().items() if inode not in self._before}
        own = {name for name, inode in new.items() if inode in self._own}
        # Without a candidate there is no need to look at every process of the machine.
        in_use = _mapped_by_anyone() if own else set()
        removed = sorted(name for name in own if new[name] not in in_use)
        for name in removed:
            (FOLDER / name).unlink(missing_ok=True)
        return removed, sorted(new.keys() - set(removed))


def mapped(pid: int) -> set[int]:
    """Inodes of the segments that a process maps; empty when it is gone or not ours to look at."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            return {int(inode) for inode in _MAPPED.findall(file.read())}
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return set()


def _mapped_by_anyone() -> set[int]:
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return {inode for pid in pids for inode in mapped(pid)}


def _listing() -> dict[str, int]:
    if not FOLDER.is_dir():
        return {}
    with os.scandir(FOLDER) as entries:
        return {entry.name: entry.inode() for entry in entries}
