"""What the reproductions of fault 1 do not reach: ids used again, sessions, and a request lost in mid-step."""

import pytest

pytest.importorskip("vllm")

from vllm.v1.request import RequestStatus

from rig.engine.patches import scheduler_zombies
from rig.engine.patches.registry import patched
from rig.engine.repro.bench import Bench, Kind, Setup
from rig.engine.repro.worker_answers import OBEDIENT

pytestmark = pytest.mark.timeout(300)  # the first one imports vLLM


def aborted_and_back(bench: Bench) -> None:
    gone = bench.add("gone", max_tokens=8)
    bench.step()
    bench.abort("gone")
    gone.status = RequestStatus.RUNNING
    bench.scheduler.running.append(gone)


@pytest.mark.parametrize("kind", list(Kind))
def test_a_later_request_with_the_id_of_a_zombie_is_left_alone(kind: Kind) -> None:
    with patched(["scheduler_zombies"]):
        bench = Bench(Setup(kind))
        aborted_and_back(bench)
        bench.add("gone", max_tokens=2)
        assert bench.wrongs() == []
        assert "error" not in bench.clients["gone"].ends
        assert bench.clients["gone"].tokens != []


@pytest.mark.parametrize("kind", [Kind.SCHEDULER, Kind.ASYNC, Kind.OMNI_AR, Kind.OMNI_AR_ASYNC])
def test_a_session_that_waits_for_input_is_no_zombie(kind: Kind) -> None:
    with patched(["scheduler_zombies"]):
        bench = Bench(Setup(kind))
        before = scheduler_zombies.teller.count
        bench.add("session", max_tokens=1, resumable=True)
        bench.step()
        bench.add("other", max_tokens=4)
        bench.step()
        assert bench.books().skipped_waiting == ["session"]
        assert scheduler_zombies.teller.count == before


def lose_in_mid_step(bench: Bench, request_id: str) -> None:
    """What another thread would do: end a request after it was given its blocks, before the step is in the books."""
    original = bench.scheduler._make_cached_request_data

    def losing(*args: object, **kwargs: object) -> object:
        made = original(*args, **kwargs)
        if request_id in bench.scheduler.requests:
            bench.abort(request_id)
        return made

    bench.scheduler._make_cached_request_data = losing


@pytest.mark.parametrize("kind", [Kind.SCHEDULER, Kind.ASYNC, Kind.OMNI_AR, Kind.OMNI_AR_ASYNC])
@pytest.mark.parametrize("connector", [None, OBEDIENT], ids=["plain", "connector"])
def test_a_request_lost_in_mid_step_is_taken_out_of_the_step(kind: Kind, connector: dict[str, str] | None) -> None:
    with patched(["scheduler_zombies"]):
        bench = Bench(Setup(kind, connector=connector))
        bench.add("gone", max_tokens=8)
        bench.step()
        lose_in_mid_step(bench, "gone")
        output = bench.schedule()
        assert output.num_scheduled_tokens == {}
        assert output.total_num_scheduled_tokens == 0
        assert output.scheduled_cached_reqs.req_ids == []
        assert "gone" in output.finished_req_ids
        bench.add("polite")
        assert bench.wrongs() == []


def test_without_the_patch_a_request_lost_in_mid_step_is_the_upstream_exception() -> None:
    bench = Bench(Setup())
    bench.add("gone", max_tokens=8)
    bench.step()
    lose_in_mid_step(bench, "gone")
    with pytest.raises(KeyError, match="gone"):
        bench.schedule()


def test_each_zombie_is_counted_once() -> None:
    with patched(["scheduler_zombies"]):
        bench = Bench(Setup())
        before = scheduler_zombies.teller.count
        aborted_and_back(bench)
        bench.scheduler.skipped_waiting.add_request(bench.requests["gone"])
        bench.step()
        bench.step()
        assert scheduler_zombies.teller.count == before + 1


@pytest.mark.parametrize("kind", [Kind.SCHEDULER, Kind.ASYNC, Kind.OMNI_AR, Kind.OMNI_AR_ASYNC])
def test_a_client_that_gave_its_request_up_hears_nothing_more_of_it(kind: Kind) -> None:
    """vLLM-Omni would take the error for the end of the session, which goes on after the abort of a barge-in."""
    with patched(["scheduler_zombies"]):
        bench = Bench(Setup(kind))
        before = scheduler_zombies.teller.count
        aborted_and_back(bench)
        bench.step()
        assert scheduler_zombies.teller.count == before + 1
        assert "error" not in bench.clients["gone"].ends


@pytest.mark.parametrize("kind", list(Kind))
def test_a_client_that_still_waits_is_told_of_the_error_once(kind: Kind) -> None:
    with patched(["scheduler_zombies"]):
        bench = Bench(Setup(kind))
        bench.add("gone", max_tokens=8)
        del bench.scheduler.requests["gone"]
        assert bench.wrongs() == []
        assert bench.clients["gone"].ends == ["error"]
