"""One booted server for several runs, one after another.

    run 1: take … leave ── afterwards? ── all well ── run 2: take … stop
                                └── not so ── stop, and a new server for run 2

Every run has its own watchers, its own journal and its own part of the log. Between two runs nobody watches; so before
the next one takes the server over, `afterwards` says what happened in the meantime.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from rig.config.pipeline import GoldenPipeline, PipelineConfig
from rig.errors import JournalError, PipelineError
from rig.events.journal import Journal
from rig.pipeline import tree
from rig.pipeline.local import LocalPipeline

STOP_PRODUCER = "rig-stop"
"""The journal, in the folder of the last run on a server, of a stop that came after that run's end."""


@dataclass(frozen=True)
class Afterwards:
    """What happened between two runs, empty for nothing; `died` counts processes."""

    died: int = 0
    what: str = ""


class SharedServer:
    """A server that runs in `home`. Whoever made it calls `stop` at the end; after a run that stopped it, in vain."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.kept = False
        """Whether it runs and waits for another run."""
        self._pipeline: LocalPipeline | None = None
        self._left: tuple[tree.Process, ...] = ()

    def take(
        self, config: PipelineConfig | GoldenPipeline, model: str, folder: Path, journal: Journal
    ) -> LocalPipeline:
        """The server for the run of this folder: new, or as the run before left it. `start` comes next."""
        if self._pipeline is None:
            self._pipeline = LocalPipeline(config, model, folder, journal, self.home)
        else:
            assert self.kept, "a server that was stopped serves no other run"
            self._pipeline.hand_over(folder, journal)
        self.kept = False
        return self._pipeline

    def left(self, alive: Iterable[tree.Process]) -> None:
        """A run left the server running, with these processes alive."""
        self._left = tuple(alive)
        self.kept = True

    def afterwards(self, fatal: Callable[[str], str | None]) -> Afterwards:
        """What happened to the server since a run left it; `fatal` names a bad line of its log."""
        if self._pipeline is None or not self.kept:
            return Afterwards()
        gone = [process.pid for process in self._left if not tree.is_same(process)]
        if gone:
            return Afterwards(len(gone), f"pids {', '.join(map(str, gone))} of the server died")
        bad = next((name for name in map(fatal, self._pipeline.unread()) if name is not None), None)
        return Afterwards() if bad is None else Afterwards(0, f"the server's log showed {bad}")

    async def stop(self, events: Path) -> str:
        """Stop a server that a run left, and record that in a journal of its own in `events`, the folder of that run's.

        Harmless when nothing runs. Returns the problem when a process is left or a record lost, else an empty string.
        """
        if self._pipeline is None or not self.kept:
            return ""
        self.kept = False
        problems: list[str] = []
        journal: Journal | None = None
        try:
            journal = Journal(events, STOP_PRODUCER, "rig")
            self._pipeline.report_to(journal)
        except JournalError as error:
            problems.append(str(error))
        try:
            await self._pipeline.stop()
        except (PipelineError, OSError) as error:
            problems.append(str(error))
        finally:
            if journal is not None:
                journal.close()
        return "; ".join(problems)


@dataclass(frozen=True)
class Series:
    """What several runs have in common: the server they use one after another, and the wish to stop."""

    server: SharedServer
    interrupted: asyncio.Event
    keep: bool
    """Whether this run leaves the server running, if it comes to its planned end."""
