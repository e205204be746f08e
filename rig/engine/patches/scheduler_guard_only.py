"""Fault 1 with nothing but the guard that vllm#42158 proposes: no crash, and what that costs."""

from typing import TYPE_CHECKING

from rig.engine.patches.patch import Change, Patch
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm.v1.core.sched.output import SchedulerOutput
    from vllm.v1.core.sched.scheduler import Scheduler


def apply() -> None:
    """Let the lookup in `Scheduler._update_after_schedule` pass over ids that are not there."""
    from vllm.v1.core.sched.scheduler import Scheduler

    wrap(Scheduler, "_update_after_schedule", _guarded)


def _guarded(original: Method) -> Method:
    """`get` and `continue` where the function looks a request up: the rest of it does not see the unknown ids.

    As in the proposal the step keeps them, and so do the queues, the block table and the workers.
    """

    def _update_after_schedule(self: "Scheduler", scheduler_output: "SchedulerOutput") -> None:
        scheduled = scheduler_output.num_scheduled_tokens
        scheduler_output.num_scheduled_tokens = {
            request_id: tokens for request_id, tokens in scheduled.items() if request_id in self.requests
        }
        try:
            original(self, scheduler_output)
        finally:
            scheduler_output.num_scheduled_tokens = scheduled

    return _update_after_schedule


PATCH = Patch(
    name="scheduler_guard_only",
    summary="only the guard of vllm#42158; the zombie keeps its slot and its blocks, and its client hears nothing",
    explanation="""\
Here to be compared with, not to be used. `Scheduler._update_after_schedule` passes over an id that `self.requests`
does not have. Nothing else changes: the zombie stays in `running`, is scheduled again at every step, takes KV
blocks that nobody gives back, and holds a slot; after as many zombies as there are slots no other request starts.
Its client gets no output. The loop of `AsyncScheduler._update_after_schedule` looks the same ids up again and is
not guarded: with async scheduling the engine core still ends with KeyError.""",
    upstream=("vllm#42158",),
    versions={"vllm": "0.30.0"},
    changes=(
        Change(
            "vllm.v1.core.sched.scheduler:Scheduler._update_after_schedule",
            "d4c15dce856daf13eb6c2c427f8e63d8631c6c4d2892b478d0b4a8b198405c62",
        ),
    ),
    apply=apply,
    excludes=("scheduler_zombies",),
)
