"""Fault 2: Mooncake's store connector forgets a request after it was entered anew in the same step."""

from typing import TYPE_CHECKING

from rig.engine.repro.bench import Bench, Kind, Setup
from rig.engine.repro.scenario import RIGHT, UNPATCHED, Case, Expected, Raised, Scenario
from rig.engine.repro.worker_answers import AR

if TYPE_CHECKING:
    from vllm.v1.core.sched.output import SchedulerOutput
    from vllm.v1.outputs import KVConnectorOutput

STORE = ("mooncake_store_unfinished",)

NOT_SUBSCRIPTABLE = Expected(Raised("TypeError", "'NoneType' object is not subscriptable", "build_connector_meta"))
NOT_ENTERED = Expected(Raised("AssertionError", "", "build_connector_meta"))
NOT_UNFINISHED = Expected(Raised("ValueError", "Request gone is not in _unfinished_requests", "build_connector_meta"))


def connector(*, save_decode_cache: bool = False) -> dict[str, object]:
    """A store that is only written to, so that no store has to be there to be asked."""
    extra = {"enable_lookup": False, "save_decode_cache": save_decode_cache}
    return {"kv_connector": "MooncakeStoreConnector", "kv_role": "kv_both", "kv_connector_extra_config": extra}


def reset_and_resume(bench: Bench) -> None:
    """Preempted by the reset of the prefix cache, back in the very next step."""
    bench.worker = saves
    bench.add("gone", prompt=40, max_tokens=8)
    bench.step()
    bench.reset_prefix_cache()
    bench.schedule()
    bench.update()


def id_used_again(bench: Bench) -> None:
    """Aborted, and the same id added again before the next step."""
    bench.worker = saves
    bench.add("gone", prompt=40, max_tokens=8)
    bench.step()
    bench.abort("gone")
    bench.add("gone", prompt=40, max_tokens=8)
    bench.schedule()
    bench.update()


def first_request(bench: Bench) -> None:
    """One request, one step."""
    bench.worker = saves
    bench.add("gone", prompt=40)
    bench.schedule()
    bench.update()


def preempted_and_running(bench: Bench) -> None:
    """A request is reported as preempted while it goes on running."""
    bench.worker = saves
    bench.add("gone", prompt=40, max_tokens=8)
    bench.step()
    bench.outside("reset_preempted_req_ids.add('gone'), which stays in running")
    bench.scheduler.reset_preempted_req_ids.add("gone")
    bench.schedule()
    bench.update()


def saves(output: "SchedulerOutput") -> "KVConnectorOutput":
    """The one worker has done every save of this step."""
    from vllm.distributed.kv_transfer.kv_connector.v1.mooncake.store.data import MooncakeStoreWorkerMetadata
    from vllm.v1.outputs import KVConnectorOutput

    jobs = [job.store_job_id for job in output.kv_connector_metadata.requests if job.store_job_id is not None]
    done = MooncakeStoreWorkerMetadata(completed_saves=dict.fromkeys(jobs, 1))
    return KVConnectorOutput(kv_connector_worker_meta=done)


SCENARIOS = (
    Scenario(
        "mooncake-reset",
        "reset_prefix_cache with running requests, then a step",
        reset_and_resume,
        (
            *(Case(Setup(kind, connector=connector()), {UNPATCHED: NOT_SUBSCRIPTABLE, STORE: RIGHT}) for kind in AR),
            Case(Setup(connector=connector(), second_runner=True), {UNPATCHED: NOT_ENTERED, STORE: RIGHT}),
        ),
        public=True,
    ),
    Scenario(
        "mooncake-id-reused",
        "abort, then the same id again before the next step",
        id_used_again,
        tuple(Case(Setup(kind, connector=connector()), {UNPATCHED: NOT_ENTERED, STORE: RIGHT}) for kind in AR),
        public=True,
    ),
    Scenario(
        "mooncake-generation-stage",
        "the first request of an OmniGenerationScheduler with this connector",
        first_request,
        (Case(Setup(Kind.OMNI_GENERATION, connector=connector()), {UNPATCHED: NOT_ENTERED, STORE: RIGHT}),),
        public=True,
    ),
    Scenario(
        "mooncake-unfinished",
        "a request is reported as preempted and goes on running",
        preempted_and_running,
        tuple(
            Case(Setup(kind, connector=connector(save_decode_cache=True)), {UNPATCHED: NOT_UNFINISHED, STORE: RIGHT})
            for kind in AR
        ),
    ),
)
