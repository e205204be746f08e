"""Resident memory of every process of the server."""

import asyncio
import os
from collections.abc import Callable, Iterable

from rig.events.journal import Journal
from rig.events.types import MemorySampled
from rig.watch.processes import Watched

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


async def sample_memory(alive: Callable[[], Iterable[Watched]], journal: Journal, interval_s: float) -> None:
    """Sample until cancelled."""
    while True:
        for watched in alive():
            resident = resident_bytes(watched.process.pid)
            if resident is not None:
                journal.record(MemorySampled, pid=watched.process.pid, stage=watched.label, rss_bytes=resident)
        await asyncio.sleep(interval_s)


def resident_bytes(pid: int) -> int | None:
    """Resident set size in bytes, None when the process is gone or about to be."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            pages = int(file.read().split()[1])
    except (FileNotFoundError, ProcessLookupError):
        return None
    # An ending process gives its memory back before it leaves /proc.
    return pages * PAGE_BYTES if pages > 0 else None
