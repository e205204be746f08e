"""A scheduled request without a row in the worker's output ends the engine core. Here it ends alone, with an error."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from rig.engine.patches import books
from rig.engine.patches.patch import Change, Patch
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm.v1.core.sched.output import SchedulerOutput
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.engine import EngineCoreOutputs
    from vllm.v1.outputs import KVConnectorOutput, ModelRunnerOutput
    from vllm.v1.request import Request

REASON = "the worker's output had no row for a request that was scheduled"

teller = Teller("update_from_output_missing_row")


def apply() -> None:
    """Finish the requests without a row before the step's output is gone through."""
    for owner in books.schedulers():
        wrap(owner, "update_from_output", _around(owner.__name__))


def _around(owner: str) -> "Method":
    skips_stale = _STALE_SKIPPED[owner]

    def around(original: Method) -> Method:
        def update_from_output(
            self: "Scheduler", scheduler_output: "SchedulerOutput", model_runner_output: "ModelRunnerOutput"
        ) -> "dict[int, EngineCoreOutputs]":
            lost = [
                request for request in missing(self, scheduler_output, model_runner_output) if not skips_stale(request)
            ]
            _finish(self, lost)
            outputs: dict[int, EngineCoreOutputs] = original(self, scheduler_output, model_runner_output)
            books.tell_clients(self, outputs)
            return outputs

        return update_from_output

    return around


def missing(scheduler: "Scheduler", output: "SchedulerOutput", answer: "ModelRunnerOutput") -> "list[Request]":
    """The live requests of this step that the worker's output leaves out."""
    rows = answer.req_id_to_index
    absent = [request_id for request_id in output.num_scheduled_tokens if request_id not in rows]
    if not absent:
        return []
    requests = (scheduler.requests.get(request_id) for request_id in absent)
    return [
        request
        for request in requests
        if request is not None
        and not request.is_finished()
        and not _load_failed(scheduler, request.request_id, answer.kv_connector_output)
    ]


def _load_failed(scheduler: "Scheduler", request_id: str, kv: "KVConnectorOutput | None") -> bool:
    """Whether the engine itself sets this request aside, because its KV did not arrive."""
    if kv is None:
        return False
    if request_id in kv.failed_recving:
        return True
    groups: Collection[Collection[int]] = scheduler.kv_cache_manager.get_block_ids(request_id)
    return any(not kv.invalid_block_ids.isdisjoint(blocks) for blocks in groups)


def _finish(scheduler: "Scheduler", lost: "list[Request]") -> None:
    from vllm.v1.request import RequestStatus

    for request in lost:
        teller.tell(f"{request.request_id} was scheduled and has no row, status {request.status.name}")
        books.owe_error(scheduler, request, REASON)
    if lost:
        scheduler.finish_requests([request.request_id for request in lost], RequestStatus.FINISHED_ERROR)


def _stale(request: "Request") -> bool:
    return bool(request.num_stale_output_tokens > 0)


def _dropped(request: "Request") -> bool:
    return _stale(request) and bool(request.drop_stale_output)


def _never(_: "Request") -> bool:
    return False


# Output from before a preemption is thrown away: where that comes before the row is looked up, no row is missed.
_STALE_SKIPPED = {"Scheduler": _dropped, "OmniARScheduler": _never, "OmniGenerationScheduler": _stale}

PATCH = Patch(
    name="update_from_output_missing_row",
    summary="a scheduled request without a row in the worker's output ends with an error; the batch goes on",
    explanation="""\
`update_from_output` looks up a row for every request of the step. One that is missing raises KeyError and takes
every other request with it. With this patch such a request is finished with status FINISHED_ERROR before the output
is gone through: its slot and blocks come back and its client gets one terminal output with finish reason `error`.
The rows that are there are handled as ever. Skipping the request instead would leave it in `running` with tokens
that nobody computed. Limit: it says nothing about why the row is missing. A connector that lets a request run
before its KV is there needs mending in the connector (vllm#54301, patch `moriio_async_read`).""",
    upstream=("vllm#53799", "vllm#46263", "vllm#54301"),
    versions={"vllm": "0.30.0", "vllm-omni": "0.30.0"},
    changes=(
        Change(
            "vllm.v1.core.sched.scheduler:Scheduler.update_from_output",
            "ce2f3988a274265361bb22915ce13f5d1b8c9adb9304c8250eefb4b94374c30f",
        ),
        Change(
            "vllm_omni.core.sched.omni_ar_scheduler:OmniARScheduler.update_from_output",
            "ce55e58c04db6e766a873bd52a516dacc867864fb1ef0abcf9324f96cd6445a7",
        ),
        Change(
            "vllm_omni.core.sched.omni_generation_scheduler:OmniGenerationScheduler.update_from_output",
            "b58663230f316754bc4e4780c6661a5245f7bf9e09c8d3b5b7a871077ffc3c92",
        ),
    ),
    apply=apply,
)
