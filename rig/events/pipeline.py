"""What is recorded of a server as a whole: ready, left to another run, stopped."""

import msgspec

from rig.events.base import Event


class PipelineReady(Event, frozen=True, tag="pipeline_ready"):
    """The server answers and speaks duplex; `boot_ns` counts from the start of its process.

    Where it had served `earlier_runs` already, it ran when this run began: `boot_ns` is how long it took to answer.
    """

    boot_ns: int
    earlier_runs: int = 0


class PipelineStopped(Event, frozen=True, tag="pipeline_stopped"):
    """Every process of the server is gone; `forced` lists the pids that had to be killed.

    `segments_removed` names what the server had left in /dev/shm and the rig removed; `segments_left` what is
    new there since the start and may be the server's or somebody else's. Each names the first 20 only: a server that
    clears nothing away leaves a lock file for each chunk. `removed_in_all` and `left_in_all` count them; None where
    nobody looked, or where an earlier version named them all.
    """

    forced: list[int]
    segments_removed: list[str] = msgspec.field(default_factory=list)
    segments_left: list[str] = msgspec.field(default_factory=list)
    removed_in_all: int | None = None
    left_in_all: int | None = None


class PipelineKept(Event, frozen=True, tag="pipeline_kept"):
    """The server was left running, for another run to use: this run did not ask it to stop."""
