"""After some aborts the stage's next step does not come back: the process lives, and nobody gets anything any more."""

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rig.engine.patches.patch import Bug, Change, Kind
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm.v1.core.sched.output import SchedulerOutput
    from vllm.v1.request import Request, RequestStatus
    from vllm_omni.core.sched.omni_scheduler_mixin import OmniSchedulerMixin

ABORTS = 3
"""So many requests have to be aborted in a stage before its step hangs."""

teller = Teller("step_never_returns", kind=Kind.BUG)

_COUNT = "_rig_aborts"

released = threading.Event()
"""Never set in an engine; a test lets go of its thread with it."""


def apply() -> None:
    """Count the aborts of each scheduler, and hang in the step after the last."""
    from vllm_omni.core.sched.omni_ar_scheduler import OmniARScheduler
    from vllm_omni.core.sched.omni_generation_scheduler import OmniGenerationScheduler
    from vllm_omni.core.sched.omni_scheduler_mixin import OmniSchedulerMixin

    wrap(OmniSchedulerMixin, "finish_requests", _counting)
    wrap(OmniARScheduler, "schedule", _hanging)
    wrap(OmniGenerationScheduler, "schedule", _hanging)


def _counting(original: Method) -> Method:
    def finish_requests(
        self: "OmniSchedulerMixin", request_ids: str | Iterable[str] | None, finished_status: "RequestStatus"
    ) -> "list[Request]":
        from vllm.v1.request import RequestStatus

        finished: list[Request] = original(self, request_ids, finished_status)
        if finished_status is RequestStatus.FINISHED_ABORTED:
            setattr(self, _COUNT, getattr(self, _COUNT, 0) + len(finished))
        return finished

    return finish_requests


def _hanging(original: Method) -> Method:
    def schedule(self: "OmniSchedulerMixin", *args: object, **kwargs: object) -> "SchedulerOutput":
        if getattr(self, _COUNT, 0) >= ABORTS:
            teller.tell(f"the step after {getattr(self, _COUNT)} aborts does not return")
            released.wait()
        output: SchedulerOutput = original(self, *args, **kwargs)
        return output

    return schedule


BUG = Bug(
    name="step_never_returns",
    summary=f"after {ABORTS} aborts in a stage its next step hangs: the process lives, no reply ever comes",
    explanation="""\
No exception and no dead process: the engine core sits in one call for ever, and the health of the API server says
nothing. Published hangs of this kind had different causes (a collective that one rank left, a lock, a chunk that nobody
sends without a deadline); what they have in common from outside is put back here, in the scheduler of every stage. A
polite caller does not provoke it.""",
    provoked_by=f"barging in or hanging up {ABORTS} times",
    upstream=("vllm-omni#3372", "vllm-omni#4855", "vllm#40344"),
    versions={"vllm": "0.30.0", "vllm-omni": "0.30.0"},
    changes=(
        Change(
            "vllm_omni.core.sched.omni_scheduler_mixin:OmniSchedulerMixin.finish_requests",
            "2d9a9786b437bd7372759c38e0a4f2ca530007fec6706e671cd34b55d42a9eec",
        ),
        Change(
            "vllm_omni.core.sched.omni_ar_scheduler:OmniARScheduler.schedule",
            "135b77d118f5d8c1af777cd4c5adb24cd3431dae79cd8aab7705b228eb013b55",
        ),
        Change(
            "vllm_omni.core.sched.omni_generation_scheduler:OmniGenerationScheduler.schedule",
            "f5b7e149921cc4ef5373f2c2ee362a952a9e18b9483e481c27a454faf3b66441",
        ),
    ),
    apply=apply,
)
