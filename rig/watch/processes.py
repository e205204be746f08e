"""Every process of the server's tree, from when it is first seen to when it ends.

A thread of its own: it waits on the pidfds of all known processes, so that a death is recorded when it
happens, and looks for new ones at short intervals.
"""

import os
import select
import threading
from collections.abc import Callable
from dataclasses import dataclass

from rig.clock import monotonic_ns
from rig.events.journal import Journal
from rig.events.types import HELPER, ProcessDied, ProcessPaused, ProcessSeen
from rig.pipeline import tree
from rig.pipeline.local import LocalPipeline
from rig.pipeline.reports import Exit
from rig.watch import labels
from rig.watch.exits import how_it_ended

SCAN_INTERVAL_S = 0.5
LAST_LINES = 20
PAUSED_STATES = "Tt"


@dataclass
class Watched:
    """A process and what is known of it."""

    process: tree.Process
    handle: int
    label: str
    title: str
    paused: bool = False


class ProcessWatch:
    """Watches from `start` to `stop`. `on_loss` is called on the watch's thread for each death nobody asked
    for."""

    def __init__(self, pipeline: LocalPipeline, journal: Journal, on_loss: Callable[[str], None]) -> None:
        self._pipeline = pipeline
        self._journal = journal
        self._on_loss = on_loss
        self._known: dict[int, Watched] = {}
        self._server_seen = False
        self._poller = select.poll()
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._poller.register(self._wake_read, select.POLLIN)
        self._thread = threading.Thread(target=self._run, name="process-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch; the pipeline has been started."""
        self._thread.start()

    def stop(self) -> None:
        """End the watch, after a last look."""
        if self._thread.is_alive():
            os.write(self._wake_write, b"x")
            self._thread.join()

    def alive(self) -> list[Watched]:
        """The processes known to be alive."""
        return list(self._known.values())

    def label_of(self, pid: int) -> str | None:
        """The label of a process, None when it is not known (any more)."""
        watched = self._known.get(pid)
        return None if watched is None else watched.label

    def _run(self) -> None:
        stopping = False
        while not stopping:
            self._scan()
            ready = self._poller.poll(SCAN_INTERVAL_S * 1_000)
            stopping = any(descriptor == self._wake_read for descriptor, _ in ready)
            self._bury()
        self._bury_unseen()
        for watched in self._known.values():
            os.close(watched.handle)

    def _bury(self) -> None:
        # Once more without waiting: several processes often die together, and the last look must miss none.
        ended = {descriptor for descriptor, _ in self._poller.poll(0)} - {self._wake_read}
        if not ended:
            return
        t_ns = monotonic_ns()
        # Children are told of their parent's end before the last thread of the parent has gone, and can be gone
        # first. What is past its end already belongs to the same death, and the oldest comes first.
        dead = [
            watched for watched in self._known.values() if watched.handle in ended or not tree.is_same(watched.process)
        ]
        for watched in sorted(dead, key=lambda watched: (watched.process.start_ticks, watched.process.pid)):
            self._died(watched, t_ns)

    def _bury_unseen(self) -> None:
        """A server that ended before the first look at it died all the same."""
        server = self._pipeline.server
        ended, t_ns = self._pipeline.exit_of(server.pid), self._pipeline.reaped_ns(server.pid)
        if self._server_seen or ended is None or t_ns is None:
            return
        unseen = Watched(server, -1, labels.API_SERVER, "")
        self._record_seen(unseen)
        self._record_died(unseen, ended, t_ns)

    def _scan(self) -> None:
        processes = tree.table()
        # Parents first, as a child is labelled by its parent: on a server that ran already all are new at once.
        family = tree.family(self._pipeline.server, processes)
        for process in sorted(family, key=lambda process: (process.start_ticks, process.pid)):
            if process.gone:
                continue
            known = self._known.get(process.pid)
            if known is None:
                self._found(process)
            elif known.process.start_ticks == process.start_ticks:
                self._rename(known)
                self._note_pause(known, process)

    def _found(self, process: tree.Process) -> None:
        try:
            handle = os.pidfd_open(process.pid)
        except ProcessLookupError:
            return
        if not tree.is_same(process):
            os.close(handle)
            return
        title = tree.title(process.pid)
        watched = Watched(process, handle, self._label(process, title), title)
        self._known[process.pid] = watched
        self._server_seen = self._server_seen or process.pid == self._pipeline.server.pid
        self._poller.register(handle, select.POLLIN)
        self._record_seen(watched)

    def _rename(self, watched: Watched) -> None:
        title = tree.title(watched.process.pid)
        # A process that is just ending has no title any more.
        if not title or title == watched.title:
            return
        watched.title = title
        watched.label = self._label(watched.process, title)
        self._record_seen(watched)

    def _label(self, process: tree.Process, title: str) -> str:
        if process.pid == self._pipeline.server.pid:
            return labels.API_SERVER
        parent = self._known.get(process.ppid)
        if parent is None:
            return labels.label(title, HELPER, "")
        return labels.label(title, parent.label, parent.title)

    def _note_pause(self, watched: Watched, now: tree.Process) -> None:
        paused = now.state in PAUSED_STATES
        if paused == watched.paused:
            return
        watched.paused = paused
        self._journal.record(ProcessPaused, pid=now.pid, stage=watched.label, paused=paused)

    def _record_seen(self, watched: Watched) -> None:
        process = watched.process
        self._journal.record(
            ProcessSeen,
            pid=process.pid,
            ppid=process.ppid,
            start_ticks=process.start_ticks,
            stage=watched.label,
            title=watched.title,
        )

    def _died(self, watched: Watched, t_ns: int) -> None:
        ended = how_it_ended(watched.handle, watched.process, self._pipeline.exit_of)
        self._poller.unregister(watched.handle)
        os.close(watched.handle)
        del self._known[watched.process.pid]
        self._record_died(watched, ended, t_ns)

    def _record_died(self, watched: Watched, ended: Exit, t_ns: int) -> None:
        expected = not self._pipeline.ended_unasked(watched.process.pid)
        self._journal.record(
            ProcessDied,
            t_ns=t_ns,
            pid=watched.process.pid,
            stage=watched.label,
            title=watched.title,
            exit_status=ended.status,
            signal=ended.signal,
            expected=expected,
            last_lines=self._last_lines(watched),
        )
        if not expected and watched.label != HELPER:
            self._on_loss(f"{watched.label} (pid {watched.process.pid}) {ended}")

    def _last_lines(self, watched: Watched) -> list[str]:
        log = self._pipeline.log
        log.catch_up()
        lines = log.last_lines(watched.process.pid, LAST_LINES)
        if not lines and watched.label == labels.API_SERVER:
            # It writes without a prefix until it has set up its logging.
            lines = log.last_lines(None, LAST_LINES)
        return lines
