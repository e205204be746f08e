"""Rings written by hand into a run folder, by the recorder's own writer."""

import base64
from pathlib import Path

from rig.engine.recorder.writer import RingWriter
from rig.events import ring
from rig.events.ring import Kind, Queue
from tests.builders import ns

STATUSES = {1: "WAITING", 5: "RUNNING", 9: "FINISHED_ABORTED", -1: "WAITING_FOR_CHUNK"}
WAITING, RUNNING, ABORTED, FOR_CHUNK = 1, 5, 9, -1
TRACKED = Queue.TRACKED
SESSION = "duplex-0123456789abcdef0123456789abcdef"
OTHER_SESSION = "duplex-fedcba9876543210fedcba9876543210"
COUNTS = (1, 0, 0, 0, 100)


def request_of(session: str, epoch: int = 0) -> str:
    """The request id of a session, as the server makes it."""
    encoded = base64.urlsafe_b64encode(session.encode()).decode().rstrip("=")
    return f"duplex-s.{encoded}.e.{epoch}.r.stage0"


GONE, STAYS = request_of(SESSION), request_of(OTHER_SESSION)


class HandRing:
    """A ring while it is being written; times are seconds since the run began."""

    def __init__(self, folder: Path, stage: int = 0, name: str | None = None) -> None:
        place = folder / ring.FOLDER
        place.mkdir(exist_ok=True)
        self.path = place / (name or f"stage-{stage}.{101 + stage}.ring")
        self.writer = RingWriter(self.path, stage, "Scheduler", STATUSES)

    def add(self, at_s: float, request: str, tokens: int = 20) -> None:
        """A request came and waits."""
        queues = 0, int(Queue.WAITING | TRACKED)
        self.writer.request(Kind.ADD, ns(at_s), request, queues, (ring.NO_STATUS, WAITING), (tokens, 1))

    def schedule(self, at_s: float, step: int, *requests: str) -> None:
        """A step with one token each."""
        self.writer.step(Kind.SCHEDULE, ns(at_s), step, COUNTS, dict.fromkeys(requests, 1))

    def update(self, at_s: float, step: int) -> None:
        """The step came back."""
        self.writer.update(ns(at_s), step, COUNTS, 50, 900)

    def abort(
        self, at_s: float, request: str, queue: Queue, *, after: Queue = Queue.NONE, status: int = WAITING
    ) -> None:
        """A request was aborted in a queue, and freed."""
        self.writer.request(Kind.ABORT, ns(at_s), request, (int(queue | TRACKED), int(after)), (status, ABORTED))
        self.writer.request(Kind.FREE, ns(at_s + 0.0001), request, (int(TRACKED),) * 2, (ABORTED, ABORTED), (20, 0))
