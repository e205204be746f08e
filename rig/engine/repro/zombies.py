"""Fault 1: a request that the scheduler has freed is still in one of its queues."""

from typing import TYPE_CHECKING

from rig.engine.repro.bench import Bench, Kind, Setup
from rig.engine.repro.scenario import RIGHT, UNPATCHED, Case, Expected, Raised, Scenario

if TYPE_CHECKING:
    from vllm.v1.request import Request

ZOMBIES, GUARD = ("scheduler_zombies",), ("scheduler_guard_only",)

KEY_ERROR = Expected(Raised("KeyError", "'gone'", "_update_after_schedule"))
INVALID_STATUS = Expected(Raised("RuntimeError", "Invalid request status: FINISHED_ABORTED", "schedule"))
LOST_SLOT = Expected(wrong="left behind: running ['gone']")
HUNG = Expected(wrong="the client of polite was never told")
LOST_BLOCKS = Expected(
    wrong="left behind: running ['away'], waiting [], skipped_waiting [], tracked [], blocks in use 4"
)
"""vLLM-Omni clears untracked requests out of `running` whenever another one ends. Their blocks stay lost."""


def zombie_in_running(bench: Bench) -> None:
    """A freed request is back in `running`: what a stage's own queue did to it while the abort looked elsewhere."""
    gone = bench.add("gone", max_tokens=8)
    bench.add("stays")
    bench.step()
    bench.abort("gone")
    _put_back(bench, gone)
    bench.schedule()


def silent_zombie(bench: Bench) -> None:
    """The same, but the abort comes while the step runs, so that the zombie never gets the token of that step."""
    gone = bench.add("gone", max_tokens=8)
    bench.add("stays")
    bench.schedule()
    bench.abort("gone")
    _put_back(bench, gone)
    bench.update()
    bench.schedule()


def _put_back(bench: Bench, request: "Request") -> None:
    from vllm.v1.request import RequestStatus

    bench.outside(f"running.append({request.request_id}), status RUNNING")
    request.status = RequestStatus.RUNNING
    bench.scheduler.running.append(request)


def zombie_in_waiting(bench: Bench) -> None:
    """An aborted request is left in `skipped_waiting`."""
    gone = bench.add("gone")
    bench.add("stays")
    bench.abort("gone")
    bench.outside("skipped_waiting.add_request(gone)")
    bench.scheduler.skipped_waiting.add_request(gone)
    bench.schedule()


def slot_per_zombie(bench: Bench) -> None:
    """As many zombies as there are slots, then one polite caller."""
    for name in ("gone", "away"):
        request = bench.add(name, max_tokens=8)
        bench.step()
        bench.abort(name)
        _put_back(bench, request)
        bench.step()
    bench.add("polite")
    bench.step()


def _running_cases() -> tuple[Case, ...]:
    guarded = {True: KEY_ERROR, False: LOST_SLOT}
    cases = [
        Case(Setup(kind), {UNPATCHED: KEY_ERROR, GUARD: guarded[kind.is_async], ZOMBIES: RIGHT})
        for kind in Kind
        if kind is not Kind.OMNI_GENERATION
    ]
    return tuple(cases)


def _silent_cases() -> tuple[Case, ...]:
    # With async scheduling the missing token has a placeholder, so that the zombie is scheduled after all.
    ends = {True: KEY_ERROR, False: LOST_SLOT}
    cases = [
        Case(Setup(kind), {UNPATCHED: ends[kind.is_async], GUARD: ends[kind.is_async], ZOMBIES: RIGHT})
        for kind in Kind
        if kind is not Kind.OMNI_GENERATION
    ]
    # It looks its running requests up itself, and drops the freed one.
    return (*cases, Case(Setup(Kind.OMNI_GENERATION), {UNPATCHED: RIGHT, ZOMBIES: RIGHT}))


def _waiting_cases() -> tuple[Case, ...]:
    cases = [
        Case(Setup(kind), {UNPATCHED: INVALID_STATUS, GUARD: INVALID_STATUS, ZOMBIES: RIGHT})
        for kind in Kind
        if not kind.is_omni
    ]
    # vLLM-Omni takes aborted requests out of all three queues before each step.
    return (*cases, *(Case(Setup(kind), {UNPATCHED: RIGHT, ZOMBIES: RIGHT}) for kind in Kind if kind.is_omni))


SCENARIOS = (
    Scenario("zombie-in-running", "a freed request is in `running`", zombie_in_running, _running_cases()),
    Scenario("silent-zombie", "a freed request without a new token is in `running`", silent_zombie, _silent_cases()),
    Scenario("zombie-in-waiting", "an aborted request is in a waiting queue", zombie_in_waiting, _waiting_cases()),
    Scenario(
        "slot-per-zombie",
        "as many zombies as slots, then a polite caller",
        slot_per_zombie,
        tuple(
            Case(Setup(kind, max_num_seqs=2), {UNPATCHED: KEY_ERROR, GUARD: guarded, ZOMBIES: RIGHT})
            for kind, guarded in ((Kind.SCHEDULER, HUNG), (Kind.OMNI_AR, LOST_BLOCKS))
        ),
    ),
)
