"""The books of one scheduler: how many requests its queues hold, where a request is, and in which status."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rig.engine.recorder.writer import Counts
from rig.events import ring
from rig.events.ring import Queue

# As plain numbers: flags of an enum are slow to put together.
_RUNNING, _WAITING, _SKIPPED, _PARKED, _TRACKED = (
    int(queue) for queue in (Queue.RUNNING, Queue.WAITING, Queue.SKIPPED_WAITING, Queue.PARKED, Queue.TRACKED)
)

_PARKING = {
    "chunk_transfer_adapter": (
        "waiting_for_chunk_waiting_requests",
        "waiting_for_chunk_running_requests",
        "_held_non_active",
    ),
    "input_coordinator": ("_waiting_for_chunk_waiting", "_waiting_for_chunk_running", "_waiting_for_input"),
}
"""Where vLLM-Omni sets requests aside until input comes: attribute of the scheduler, and the lists of what it holds."""


class Books:
    """Reads a scheduler; changes nothing."""

    def __init__(self, scheduler: Any) -> None:
        self._scheduler = scheduler
        self._blocks = scheduler.kv_cache_manager.block_pool.free_block_queue
        # vLLM puts a method in Python over the length of its queues that are deques.
        self._length: Callable[[Any], int] = deque.__len__ if isinstance(scheduler.waiting, deque) else len
        self._keepers: list[tuple[Any, str]] = []

    def meet_keepers(self) -> None:
        """Find what sets requests aside; it is made after the scheduler's own part."""
        for attribute, lists in _PARKING.items():
            keeper = getattr(self._scheduler, attribute, None)
            if keeper is not None:
                self._keepers += [(keeper, name) for name in lists if hasattr(keeper, name)]

    def counts(self) -> Counts:
        """Requests in each queue, and free KV blocks."""
        scheduler = self._scheduler
        parked = 0
        for keeper, name in self._keepers:
            parked += len(getattr(keeper, name))
        waiting, skipped = self._length(scheduler.waiting), self._length(scheduler.skipped_waiting)
        return len(scheduler.running), waiting, skipped, parked, self._blocks.num_free_blocks

    def where(self, request_id: str, request: Any = None) -> int:
        """In which queues a request is, and whether the scheduler still tracks one of this id.

        A request that is not given is the tracked one; where none is tracked, anything of this id counts.
        """
        scheduler = self._scheduler
        tracked = scheduler.requests.get(request_id)
        if request is None:
            request = tracked
            if request is None:
                return sum(flag for flag, held in self._queues() if any(one.request_id == request_id for one in held))
        # Written out: it is asked of each request that ends in a step.
        found = 0 if tracked is None else _TRACKED
        if request in scheduler.running:
            found |= _RUNNING
        if request in scheduler.waiting:
            found |= _WAITING
        if request in scheduler.skipped_waiting:
            found |= _SKIPPED
        for keeper, name in self._keepers:
            if request in getattr(keeper, name):
                return found | _PARKED
        return found

    def ends(self, requests: Iterable[Any], counts: Counts, number: Callable[[str], int]) -> list[int]:
        """`ring.END_FIELDS` of each request that has ended, one after the other. `counts` are those of this moment."""
        tracked = self._scheduler.requests
        running, waiting, skipped, parked, _ = counts
        held = running or waiting or skipped or parked
        found: list[int] = []
        for request in requests:
            name = request.request_id
            where = self.where(name, request) if held else _TRACKED if name in tracked else 0
            found += number(name), where, request.status, request.num_computed_tokens, request.num_output_tokens
        return found

    def status_of(self, request_id: str) -> int:
        """The status of the tracked request of this id, NO_STATUS when there is none."""
        request = self._scheduler.requests.get(request_id)
        return ring.NO_STATUS if request is None else int(request.status)

    def _queues(self) -> Iterator[tuple[int, Iterable[Any]]]:
        scheduler = self._scheduler
        yield _RUNNING, scheduler.running
        yield _WAITING, scheduler.waiting
        yield _SKIPPED, scheduler.skipped_waiting
        yield _PARKED, [one for keeper, name in self._keepers for one in getattr(keeper, name)]
