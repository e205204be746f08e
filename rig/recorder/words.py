"""Records of a ring in words, and the names of its requests as a reader can follow them."""

from collections.abc import Mapping

from rig.clock import NS_PER_MS
from rig.events.ring import Kind, Queue, session_of
from rig.recorder.rings import Change, Raised, Record, Step

SESSION_SHOWN = 15
"""`duplex-` and the first 8 of the 32 digits of a session id."""
OTHER_SHOWN = 40


class Names:
    """Short names of requests; `calls` maps session ids to the calls that had them."""

    def __init__(self, calls: Mapping[str, str]) -> None:
        self._calls = calls
        self.used: dict[str, str] = {}

    def of(self, request_id: str) -> str:
        """`duplex-1a2b3c4d e1 (c000-0003)`: session, epoch of the session, call. Other ids stand as they are."""
        found = self.used.get(request_id)
        if found is None:
            found = self.used[request_id] = self._made(request_id)
        return found

    def call_of(self, request_id: str) -> str | None:
        """The call whose session a request belongs to."""
        session = session_of(request_id)
        return None if session is None else self._calls.get(session)

    def _made(self, request_id: str) -> str:
        session = session_of(request_id)
        if session is None:
            return request_id if len(request_id) <= OTHER_SHOWN else f"{request_id[: OTHER_SHOWN - 3]}..."
        call = self._calls.get(session)
        epoch = request_id.split(".")[3]
        return f"{session[:SESSION_SHOWN]} e{epoch}" + ("" if call is None else f" ({call})")


def described(record: Record, names: Names) -> str:
    """One line about a record."""
    match record:
        case Step():
            return _step(record, names)
        case Change():
            return _change(record, names)
        case Raised():
            return f"RAISED in {record.text}"


def ms(ns: int) -> str:
    """A duration in milliseconds, with a decimal where that says something; seconds from ten on."""
    value = ns / NS_PER_MS
    if value >= 10_000:
        return f"{value / 1_000:.1f} s"
    return f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms"


def places(queue: Queue) -> str:
    """The queues that held a request, in words."""
    return f"in {queue.names}"


def _step(record: Step, names: Names) -> str:
    books = (
        f"running {record.running}, waiting {record.waiting}, skipped_waiting {record.skipped_waiting}, "
        f"parked {record.parked}, {record.free_blocks} blocks free"
    )
    if record.kind is Kind.UPDATE:
        after = f"{record.step}, {ms(record.step_us * 1_000)} after its schedule began" if record.step else "?"
        return f"update of step {after}; {books}"
    if record.kind is Kind.IDLE:
        return f"no request to run, {record.empty} empty steps since the last step; {books}"
    listed = ", ".join(f"{names.of(name)} {count}" for name, count in record.tokens.items()) or "more"
    listed += f" and {record.more} more" if record.more > 0 else ""
    if record.kind is Kind.MISSING_ROWS:
        return f"THE WORKER'S ANSWER to step {record.step or '?'} leaves out {listed}"
    return f"schedule step {record.step}: {listed}; {books}"


def _change(record: Change, names: Names) -> str:
    name, (first, second) = names.of(record.request), record.values
    before, after = record.status or "not tracked", record.status_after or "not tracked"
    match record.kind:
        case Kind.ADD if record.status is None:
            session = ", a session" if second else ""
            return f"add {name}: {first} tokens{session}; {places(record.queue_after)}, {after}"
        case Kind.ADD:
            return f"add to {name}: {first} tokens; was {before}, now {places(record.queue_after)}, {after}"
        case Kind.ABORT:
            left = record.queue_after & ~Queue.TRACKED
            stays = f", and STILL {places(record.queue_after)}" if left else ""
            return f"{ended_as(record)} {name} while {places(record.queue)}, status {before}{stays}"
        case Kind.FREE:
            return f"free {name}: {after}, {places(record.queue)}; {first} tokens computed, {second} new"
        case Kind.STOP:
            goes_on = "" if first else f"; goes on {places(record.queue_after)}, {after}"
            return f"stop {name}: {before}{goes_on}"
        case Kind.PREEMPT:
            return f"preempt {name}: was {before}, now {places(record.queue_after)}, {after}"
        case Kind.CHUNK_IN:
            return f"chunk {first} in for {name}, {second} bytes"
        case _:
            return f"chunk {first} out of {name}, " + (f"{second} bytes" if second >= 0 else "NOT TAKEN")


def ended_as(record: Change) -> str:
    """`abort`, or how else a request was ended from outside."""
    return "abort" if record.status_after == "FINISHED_ABORTED" else f"end as {record.status_after}"
