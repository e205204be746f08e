"""A KV transfer that ends after its request was freed trips an assertion. Here the late message is dropped."""

from typing import TYPE_CHECKING

from rig.engine.patches.patch import Change, Patch
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.outputs import KVConnectorOutput

teller = Teller("kv_finished_for_freed_request")


def apply() -> None:
    """Drop what the scheduler cannot match, after the connector has seen everything."""
    from vllm.v1.core.sched.scheduler import Scheduler

    wrap(Scheduler, "_update_from_kv_xfer_finished", _filtering)


def _filtering(original: Method) -> Method:
    def _update_from_kv_xfer_finished(self: "Scheduler", kv_connector_output: "KVConnectorOutput") -> None:
        connector = self.connector
        if connector is not None:
            # The connector may rewrite both sets, so it goes first; the original must then not ask it again.
            connector.update_connector_output(kv_connector_output)
        drop_unknown(self, kv_connector_output)
        self.connector = None
        try:
            original(self, kv_connector_output)
        finally:
            self.connector = connector

    return _update_from_kv_xfer_finished


def drop_unknown(scheduler: "Scheduler", output: "KVConnectorOutput") -> None:
    """Take out the ids that nobody tracks, and the send of a request that its receive is about to free."""
    received = _known(scheduler, output.finished_recving, "receive")
    freed = {request_id for request_id in received if scheduler.requests[request_id].is_finished()}
    sent = _known(scheduler, output.finished_sending, "send")
    for request_id in sorted(sent & freed):
        teller.tell(f"receive and send of {request_id} ended in one step; it is freed once")
    output.finished_recving = received
    output.finished_sending = sent - freed


def _known(scheduler: "Scheduler", ids: set[str] | None, what: str) -> set[str]:
    known = {request_id for request_id in ids or () if request_id in scheduler.requests}
    for request_id in sorted(set(ids or ()) - known):
        teller.tell(f"a {what} of {request_id} ended after the request was freed")
    return known


PATCH = Patch(
    name="kv_finished_for_freed_request",
    summary="a KV transfer that ends after its request was freed is dropped instead of ending the engine core",
    explanation="""\
`_update_from_kv_xfer_finished` asserts that every id is tracked. A connector that reports a second end for a
request, or one after an abort, trips it and the engine core ends. With this patch the connector still sees every
message; the scheduler then passes over ids that it does not track, and frees a request once when its receive and
its send end in the same step. Why upstream wants this in the connector, and why this patch is a plaster: the
scheduler frees a request's blocks on the FIRST end that it hears of. When a second transfer of the same request is
still going on, those blocks belong to somebody else by the time it ends, and it reads or writes their KV. The
assertion is the only place that notices. Passing over it keeps the other callers alive and may hand one of them
wrong KV; only the connector knows which transfers are open.""",
    upstream=("vllm#43226", "vllm#46240", "vllm#56089"),
    versions={"vllm": "0.30.0"},
    changes=(
        Change(
            "vllm.v1.core.sched.scheduler:Scheduler._update_from_kv_xfer_finished",
            "1205ba3f9a6e1215fafc5b0bc6370560652e652f377bb43bdc05b0c0783d5a35",
        ),
    ),
    apply=apply,
)
