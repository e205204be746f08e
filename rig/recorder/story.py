"""What a scheduler did last before a moment, in sentences that name the request, its queue and its status."""

from collections.abc import Iterable, Sequence

from rig.clock import NS_PER_S
from rig.events.ring import Kind, Queue
from rig.recorder.callers import CallerAct, CallerActs
from rig.recorder.rings import Change, Raised, Record, Ring, Step
from rig.recorder.words import Names, ended_as, ms, places

LOOK_BACK_NS = 60 * NS_PER_S
BLAME_NS = 10 * NS_PER_S
SUSPECTS = 8
LEFT_SHOWN = 4
MANY_EQUAL = 200
"""So many equal steps in a row seldom get anybody further: a request that decodes takes a block now and then."""


def sentences(
    who: str, one: Ring, records: Sequence[Record], until_ns: int, callers: CallerActs, names: Names
) -> list[str]:
    """Of one stage: an exception, the step that it was in, and what had happened to the requests of both."""
    if not records:
        written = f"; {one.written} records in all" if one.written else ""
        return [f"{who} (pid {one.header.pid}): nothing recorded before this moment{written}"]
    told: list[str] = []
    recent = [record for record in records if until_ns - record.t_ns <= LOOK_BACK_NS]
    raised = next((record for record in reversed(recent) if isinstance(record, Raised)), None)
    step = last_step(records)
    finished = None if step is None else _finished(records, step)
    if raised is not None:
        text = raised.text if raised.request is None else raised.text.replace(raised.request, names.of(raised.request))
        told.append(f"{who} raised in {text}, {ms(until_ns - raised.t_ns)} before")
    if step is not None and (finished is not True or raised is not None):
        told += [_scheduled(who, step, finished, until_ns), *_suspects(who, step, records, callers, names)]
    elif step is not None:
        told.append(_between(who, records[-1], step, until_ns))
    if step is not None and (equal := _equal_steps(records, step)) is not None:
        first, count = equal
        lasted = ms(step.t_ns - first.t_ns)
        told.append(f"{who} took {count} equal steps in {lasted}: the same requests, no KV block taken or given back")
        if finished is True and raised is None:
            told += _suspects(who, first, records, callers, names)
    if raised is not None and raised.request is not None and (step is None or raised.request not in step.tokens):
        told.append(f"{who}: {_history_of(raised.request, raised.t_ns, records, callers, names)}")
    told += [f"{who}: {text}" for text in _left(recent, names)]
    told += [
        f"{who}: the worker's answer to step {record.step} left out {', '.join(map(names.of, record.tokens))}"
        for record in recent
        if isinstance(record, Step) and record.kind is Kind.MISSING_ROWS
    ]
    return told


def last_step(records: Sequence[Record]) -> Step | None:
    """The last step that was scheduled, with its requests."""
    return next((one for one in reversed(records) if isinstance(one, Step) and one.kind is Kind.SCHEDULE), None)


def _equal_steps(records: Sequence[Record], last: Step) -> tuple[Step, int] | None:
    """The first of the steps that were like the last one, and how many, where they are many. Not all are recorded."""
    first = last
    for one in reversed(records):
        if not isinstance(one, Step) or one.kind is not Kind.SCHEDULE:
            continue
        if (one.tokens, _books(one)) != (last.tokens, _books(last)):
            break
        first = one
    count = last.step - first.step + 1
    return (first, count) if count >= MANY_EQUAL else None


def _books(step: Step) -> tuple[int, ...]:
    return step.running, step.waiting, step.skipped_waiting, step.parked, step.free_blocks


def _finished(records: Sequence[Record], step: Step) -> bool | None:
    """Whether a step came back; None where something did and it is not known what (step 0)."""
    updates = [one for one in records if isinstance(one, Step) and one.kind is Kind.UPDATE]
    if any(one.step == step.step for one in updates):
        return True
    return None if any(one.step == 0 and one.t_ns >= step.t_ns for one in updates) else False


def _scheduled(who: str, step: Step, finished: bool | None, until_ns: int) -> str:
    ended = {True: "", False: ", which it did not finish", None: ", and whether it finished is not recorded"}[finished]
    return (
        f"{who} was in step {step.step}{ended}: scheduled {ms(until_ns - step.t_ns)} before, "
        f"running {step.running}, waiting {step.waiting}, skipped_waiting {step.skipped_waiting}, parked {step.parked}"
    )


def _between(who: str, last: Record, step: Step, until_ns: int) -> str:
    return (
        f"{who} was between steps: step {step.step} was scheduled {ms(until_ns - step.t_ns)} before, "
        f"the last record is {ms(until_ns - last.t_ns)} old"
    )


def _suspects(who: str, step: Step, records: Sequence[Record], callers: CallerActs, names: Names) -> Iterable[str]:
    """The requests of a step, first those that had ended before it."""
    ends = {name: _end_of(name, step.t_ns, records) for name in step.tokens}
    ordered = sorted(step.tokens, key=lambda name: ends[name] is None)
    for name in ordered[:SUSPECTS]:
        tokens = step.tokens[name]
        what = f"{who} scheduled {names.of(name)} ({tokens} token{'s' if tokens != 1 else ''})"
        yield f"{what}, {_fate(name, step.t_ns, records, callers, names)}"
    if len(ordered) > SUSPECTS:
        yield f"{who} scheduled {len(ordered) - SUSPECTS} more requests in that step"


def _history_of(name: str, at_ns: int, records: Sequence[Record], callers: CallerActs, names: Names) -> str:
    return f"{names.of(name)} was {_fate(name, at_ns, records, callers, names)}"


def _fate(name: str, at_ns: int, records: Sequence[Record], callers: CallerActs, names: Names) -> str:
    """What had become of a request: its end with queue and status, else the last that is known of it."""
    end = _end_of(name, at_ns, records)
    if end is None:
        last = _last_change(name, at_ns, records)
        if last is None:
            return "of which nothing else is recorded"
        status = last.status_after or "not tracked"
        return f"last heard of {ms(at_ns - last.t_ns)} before {places(last.queue_after)}, status {status}"
    if end.kind is Kind.FREE:
        return f"freed {ms(at_ns - end.t_ns)} before while {places(end.queue)}, status {end.status_after}"
    ended = "aborted" if ended_as(end) == "abort" else ended_as(end)
    before = end.status or "not tracked"
    left = end.queue_after & ~Queue.TRACKED
    stays = f", and still {places(end.queue_after)} after that" if left else ""
    text = f"{ended} {ms(at_ns - end.t_ns)} before while {places(end.queue)}, status {end.status_after} (was {before})"
    return text + stays + _blame(name, end.t_ns, callers, names)


def _end_of(name: str, at_ns: int, records: Sequence[Record]) -> Change | None:
    """The abort, else the freeing, of a request that was not added again until `at_ns`; no abort that met nothing."""
    freed: Change | None = None
    for record in reversed(records):
        if record.t_ns > at_ns or not isinstance(record, Change) or record.request != name:
            continue
        if record.kind is Kind.ADD:
            break
        if record.kind is Kind.ABORT and (record.status is not None or record.queue):
            return record
        if record.kind is Kind.FREE and freed is None:
            freed = record
    return freed


def _last_change(name: str, at_ns: int, records: Sequence[Record]) -> Change | None:
    kinds = (Kind.ADD, Kind.STOP, Kind.PREEMPT)
    return next(
        (
            one
            for one in reversed(records)
            if isinstance(one, Change) and one.request == name and one.t_ns <= at_ns and one.kind in kinds
        ),
        None,
    )


def _blame(name: str, at_ns: int, callers: CallerActs, names: Names) -> str:
    """What the caller of a request did on purpose just before it was ended."""
    call = names.call_of(name)
    acts: list[CallerAct] = [
        act for act in callers.acts if act.call == call and act.on_purpose and 0 <= at_ns - act.t_ns <= BLAME_NS
    ]
    return f"; {call} did {acts[-1].what} {ms(at_ns - acts[-1].t_ns)} before that" if acts else ""


def _left(records: Iterable[Record], names: Names) -> list[str]:
    """Requests that were ended and stayed in a queue all the same."""
    left = [
        one
        for one in records
        if isinstance(one, Change) and one.kind is Kind.ABORT and one.queue_after & ~Queue.TRACKED
    ]
    return [f"{ended_as(one)} left {names.of(one.request)} {places(one.queue_after)}" for one in left[-LEFT_SHOWN:]]
