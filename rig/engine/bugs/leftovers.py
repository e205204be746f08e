"""Requests that a bug leaves in a scheduler's queues after they were aborted, and that no sweep must find."""

from collections.abc import Iterable
from typing import TYPE_CHECKING
from weakref import WeakSet

from rig.engine.patches.wrapping import Method

if TYPE_CHECKING:
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.request import Request

_LEFT = "_rig_left_over"


def leave(scheduler: "Scheduler", request: "Request") -> None:
    """Remember a request that stays queued, for as long as something holds it: the bug is no leak of its own."""
    vars(scheduler).setdefault(_LEFT, WeakSet()).add(request)


def left_in(scheduler: "Scheduler", queue: Iterable["Request"]) -> "list[Request]":
    """The remembered ones of a queue, in its order."""
    left = vars(scheduler).get(_LEFT, ())
    return [request for request in queue if request in left] if left else []


def all_left(scheduler: "Scheduler") -> "list[Request]":
    """Every one that was remembered and is still held, queued or not."""
    return list(vars(scheduler).get(_LEFT, ()))


def wanted(request_ids: str | Iterable[str] | None) -> str | tuple[str, ...] | None:
    """The ids of a finish, to be looked at twice."""
    return request_ids if request_ids is None or isinstance(request_ids, str) else tuple(request_ids)


def tracked(scheduler: "Scheduler", request_ids: str | tuple[str, ...] | None) -> "list[Request]":
    """The requests behind the ids of an abort. None means the engine's shutdown: nobody's hang-up."""
    if request_ids is None:
        return []
    ids = (request_ids,) if isinstance(request_ids, str) else request_ids
    found = (scheduler.requests.get(request_id) for request_id in ids)
    return [request for request in found if request is not None]


def keeping_in_running(original: Method) -> Method:
    """Around `_purge_finished_from_running`: the sweep of `running` after each abort came with the fix."""

    def _purge_finished_from_running(self: "Scheduler", target_request_ids: set[str] | None = None) -> None:
        left = left_in(self, self.running)
        original(self, target_request_ids)
        self.running.extend(request for request in left if request not in self.running)

    return _purge_finished_from_running
