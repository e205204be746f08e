"""What is recorded: the methods of one scheduler, and of its chunk transfer adapter, seen from around them.

The functions are put on the object, not on its class. So each call is seen once, however often a class calls the method
that it replaces, and whatever patches have put around the classes' own is inside. An exception of the engine goes on as
it came; one of the recorder takes the recorder off.
"""

from collections.abc import Callable, Iterable, Iterator
from time import monotonic_ns as now_ns
from typing import Any, TypeVar

from rig.engine.recorder import source
from rig.engine.recorder.books import Books
from rig.engine.recorder.writer import U32, Counts, RingWriter, microseconds
from rig.events import ring
from rig.events.ring import Kind

IDLE_EVERY_NS = 250_000_000
"""Steps without a request are counted; one record so often says that they go on. A parked request makes thousands."""
MAX_ENDED_AT_ONCE = 64
MAX_STEPS_IN_FLIGHT = 64
EQUAL_STEPS = 64
"""After so many steps in a row with the same requests and counts those that follow take each other's place.

A request that the scheduler has forgotten and still schedules makes hundreds a second, and would soon fill the ring."""

Result = TypeVar("Result")
Method = Callable[..., Any]
"""A method of the engine: its types are the engine's, which are not looked into."""

# As plain numbers: members of an enum are slow to look up.
_SCHEDULE, _STOP, _FREE = int(Kind.SCHEDULE), int(Kind.STOP), int(Kind.FREE)


class Recording:
    """One scheduler that is being recorded. `off` is told why, when the recorder fails and takes itself off."""

    def __init__(self, scheduler: Any, writer: RingWriter, off: Callable[[str], None]) -> None:
        self.writer = writer
        self._scheduler = scheduler
        self._off = off
        self._write_step, self._write_update, self._number = writer.step, writer.update, writer.number
        self._books = books = Books(scheduler)
        self._counts, self._where, self._status_of = books.counts, books.where, books.status_of
        self._ends = books.ends
        self._began_ns = 0
        self._step = 0
        self._in_flight: dict[int, tuple[int, int]] = {}
        self._freed: list[Any] | None = None
        self._last_tokens: dict[str, int] | None = None
        self._last_counts: Counts | None = None
        self._equal = 0
        self._empty = 0
        self._idle_ns = 0
        self._idle_counts: Counts | None = None
        self._unseen_adapter = True
        self._sending = ""
        self._raised: BaseException | None = None
        self._put_on: list[tuple[Any, str]] = []

    def begin(self) -> None:
        """Put every function on."""
        for name, around in {
            "schedule": self._around_schedule,
            "_update_after_schedule": self._around_after_schedule,
            "update_from_output": self._around_update,
            "add_request": self._around_add,
            "finish_requests": self._around_finish,
            "_free_request": self._around_free,
            "_handle_stopped_request": self._around_stopped,
            "_preempt_request": self._around_preempt,
        }.items():
            self._put(self._scheduler, name, around)

    def end(self) -> None:
        """Take every function off again."""
        while self._put_on:
            owner, name = self._put_on.pop()
            vars(owner).pop(name, None)

    def _put(self, owner: Any, name: str, around: Callable[[Method], Method]) -> None:
        setattr(owner, name, around(getattr(owner, name)))
        self._put_on.append((owner, name))

    def _fail(self, error: Exception) -> None:
        """The recorder is wrong about the engine: it goes, the engine stays."""
        if self._put_on:
            self.end()
            self._off(f"it failed: {type(error).__name__}: {error}")

    def _safely(self, note: Callable[..., Result], *arguments: object) -> Result | None:
        try:
            return note(*arguments)
        except Exception as error:  # noqa: BLE001 - what the recorder raises must not end the engine
            self._fail(error)
            return None

    # ---- steps

    def _around_schedule(self, schedule: Method) -> Method:
        def recorded(*args: object, **kwargs: object) -> object:
            self._began_ns = now_ns()
            try:
                return schedule(*args, **kwargs)
            except Exception as error:
                self._safely(self._error, "schedule", error)
                raise

        return recorded

    def _around_after_schedule(self, after_schedule: Method) -> Method:
        """The step as it is before the scheduler looks its requests up, which is where a zombie ends the engine."""

        def recorded(output: Any) -> None:
            t_ns = now_ns()
            # Written out here, as in the update below: each call on the way of a step costs.
            try:
                tokens, counts = output.num_scheduled_tokens, self._counts()
                if tokens:
                    if counts == self._last_counts and tokens == self._last_tokens:
                        self._equal += 1
                        if self._equal == EQUAL_STEPS:
                            self.writer.go_round(on=True)
                    else:
                        if self._equal >= EQUAL_STEPS:
                            self.writer.go_round(on=False)
                        self._last_tokens, self._last_counts, self._equal = tokens, counts, 1
                    self._step = step = (self._step + 1) & U32
                    spent_us = microseconds(t_ns - self._began_ns)
                    self._write_step(_SCHEDULE, t_ns, step, counts, tokens, spent_us, 0, self._empty)
                    self._empty, self._idle_counts = 0, None
                    if len(self._in_flight) >= MAX_STEPS_IN_FLIGHT:
                        self._in_flight.pop(next(iter(self._in_flight)))
                    self._in_flight[id(tokens)] = step, self._began_ns
                else:
                    self._note_idle(t_ns, counts)
            except Exception as error:  # noqa: BLE001 - see _safely
                self._fail(error)
            after_schedule(output)

        return recorded

    def _note_other(self) -> None:
        """Something else than one more equal step."""
        if self._equal >= EQUAL_STEPS:
            self.writer.go_round(on=False)
        self._last_counts, self._equal = None, 0

    def _note_idle(self, t_ns: int, counts: Counts) -> None:
        self._note_other()
        self._empty = min(self._empty + 1, U32)
        if counts != self._idle_counts or t_ns - self._idle_ns >= IDLE_EVERY_NS:
            self._idle_ns, self._idle_counts = t_ns, counts
            self._write_step(Kind.IDLE, t_ns, self._step, counts, {}, 0, 0, self._empty)

    def _around_update(self, update: Method) -> Method:
        def recorded(output: Any, answer: Any) -> object:
            tokens = output.num_scheduled_tokens
            begin_ns = now_ns()
            if tokens and len(answer.req_id_to_index) < len(tokens):
                self._safely(self._note_missing, begin_ns, tokens, answer.req_id_to_index)
            freed: list[Any] = []
            self._freed = freed
            try:
                told = update(output, answer)
            except BaseException as error:  # also when the process is told to exit in the middle
                self._safely(self._note_freed, freed)
                if isinstance(error, Exception):
                    self._safely(self._error, "update_from_output", error)
                raise
            finally:
                self._freed = None
            if tokens:
                t_ns = now_ns()
                try:
                    step, scheduled_ns = self._in_flight.pop(id(tokens), (0, t_ns))
                    spent_us, step_us = microseconds(t_ns - begin_ns), microseconds(t_ns - scheduled_ns)
                    counts = self._counts()
                    ends = self._ends(freed, counts, self._number) if freed else ()
                    self._write_update(t_ns, step, counts, spent_us, step_us, ends)
                except Exception as error:  # noqa: BLE001 - see _safely
                    self._fail(error)
            elif freed:
                self._safely(self._note_freed, freed)
            return told

        return recorded

    def _note_missing(self, t_ns: int, tokens: dict[str, int], rows: dict[str, int]) -> None:
        """Requests of a step that the scheduler still tracks, and that the worker left out of its answer."""
        tracked = self._scheduler.requests
        missing = {name: count for name, count in tokens.items() if name not in rows and name in tracked}
        if missing:
            self._note_other()
            step, _ = self._in_flight.get(id(tokens), (0, 0))
            self._write_step(Kind.MISSING_ROWS, t_ns, step, self._counts(), missing)

    # ---- requests

    def _around_add(self, add: Method) -> Method:
        def recorded(request: Any) -> object:
            if self._unseen_adapter:
                self._safely(self._meet_adapter)
            before = self._safely(self._status_of, request.request_id)
            try:
                result = add(request)
            except Exception as error:
                self._safely(self._error, "add_request", error, request.request_id)
                raise
            self._safely(self._note_add, request, ring.NO_STATUS if before is None else before)
            return result

        return recorded

    def _note_add(self, request: Any, before: int) -> None:
        name = request.request_id
        queues, statuses = (0, self._where(name)), (before, self._status_of(name))
        values = request.num_prompt_tokens, int(request.resumable)
        self.writer.request(Kind.ADD, now_ns(), name, queues, statuses, values)

    def _around_finish(self, finish: Method) -> Method:
        """An end from outside, for most part the abort of a caller who has gone."""

        def recorded(request_ids: Any, finished_status: Any) -> object:
            if isinstance(request_ids, Iterator):
                request_ids = tuple(request_ids)
            t_ns = now_ns()
            before = self._safely(self._states, request_ids)
            try:
                return finish(request_ids, finished_status)
            except Exception as error:
                self._safely(self._error, "finish_requests", error)
                raise
            finally:
                self._safely(self._note_finish, t_ns, before or [], int(finished_status))

        return recorded

    def _states(self, request_ids: Any) -> list[tuple[str, int, int]]:
        """Of each request that is to end: where it is, and in which status."""
        if isinstance(request_ids, str):
            request_ids = (request_ids,)
        names: Iterable[str] = self._scheduler.requests if request_ids is None else request_ids
        few = [name for name, _ in zip(names, range(MAX_ENDED_AT_ONCE), strict=False)]
        return [(name, self._where(name), self._status_of(name)) for name in few]

    def _note_finish(self, t_ns: int, before: list[tuple[str, int, int]], finished: int) -> None:
        for name, queue, status in before:
            self.writer.request(Kind.ABORT, t_ns, name, (queue, self._where(name)), (status, finished))

    def _around_free(self, free: Method) -> Method:
        """In an update they wait for its end, and stand in its record: many may end in one.

        So a request that an update frees and leaves in a queue is recorded there. Where the update does not end, each
        has a record of its own.
        """

        def recorded(request: Any, delay_free_blocks: bool = False) -> object:
            if self._freed is None:
                self._safely(self._note_free, now_ns(), request)
            else:
                self._freed.append(request)
            return free(request, delay_free_blocks)

        return recorded

    def _note_freed(self, freed: list[Any]) -> None:
        t_ns = now_ns()
        for request in freed:
            self._note_free(t_ns, request)

    def _note_free(self, t_ns: int, request: Any) -> None:
        name, status = request.request_id, request.status
        where = self._where(name, request)
        values = request.num_computed_tokens, request.num_output_tokens
        self.writer.request(_FREE, t_ns, name, (where, where), (status, status), values)

    def _around_stopped(self, handle: Method) -> Method:
        """The end of one segment of a session that goes on. Where the whole request ends, it is freed: see there."""

        def recorded(request: Any) -> object:
            if not request.resumable:
                return handle(request)
            before = self._safely(self._state, request)
            finished = handle(request)
            self._safely(self._note_change, _STOP, request, before, int(bool(finished)))
            return finished

        return recorded

    def _around_preempt(self, preempt: Method) -> Method:
        def recorded(request: Any, *args: object, **kwargs: object) -> object:
            before = self._safely(self._state, request)
            result = preempt(request, *args, **kwargs)
            self._safely(self._note_change, Kind.PREEMPT, request, before, 0)
            return result

        return recorded

    def _state(self, request: Any) -> tuple[int, int]:
        return self._where(request.request_id, request), request.status

    def _note_change(self, kind: int, request: Any, before: tuple[int, int] | None, value: int) -> None:
        if before is not None:
            (queue, status), (queue_now, status_now) = before, self._state(request)
            places, statuses = (queue, queue_now), (status, status_now)
            self.writer.request(kind, now_ns(), request.request_id, places, statuses, (value, 0))

    # ---- chunks

    def _meet_adapter(self) -> None:
        """The adapter is made after the scheduler's own part; no chunk comes before the first request."""
        self._unseen_adapter = False
        self._books.meet_keepers()
        adapter = getattr(self._scheduler, "chunk_transfer_adapter", None)
        if adapter is None:
            return
        problems = source.misfits(type(adapter), source.ADAPTER_METHODS)
        if problems := [*problems, *source.misfits(type(adapter.connector), source.CONNECTOR_METHODS)]:
            self._off(f"its chunks alone: {'; '.join(problems)}")
            return
        self._put(adapter, "_commit_received_chunk", self._around_commit)
        self._put(adapter, "_send_single_request_for_generation", self._around_send)
        self._put(adapter.connector, "put", self._around_put)

    def _around_commit(self, commit: Method) -> Method:
        """A chunk that came, on the thread that receives."""

        def recorded(request: Any, result: Any, **kwargs: Any) -> object:
            self._safely(self._note_commit, request, result, kwargs)
            return commit(request, result, **kwargs)

        return recorded

    def _note_commit(self, request: Any, result: Any, given: dict[str, Any]) -> None:
        self._note_chunk(Kind.CHUNK_IN, request.request_id, given.get("chunk_id", -1), result[1])

    def _around_send(self, send: Method) -> Method:
        def recorded(task: Any, *args: object) -> object:
            self._safely(self._note_sending, task)
            return send(task, *args)

        return recorded

    def _note_sending(self, task: Any) -> None:
        self._sending = task["request"].request_id

    def _around_put(self, put: Method) -> Method:
        """A chunk that left, on the thread that sends."""

        def recorded(*args: object, **kwargs: Any) -> object:
            result = put(*args, **kwargs)
            self._safely(self._note_put, kwargs, result)
            return result

        return recorded

    def _note_put(self, given: dict[str, Any], result: Any) -> None:
        chunk = str(given.get("put_key", "")).rpartition("_")[2]
        number = int(chunk) if chunk.isdecimal() else -1
        self._note_chunk(Kind.CHUNK_OUT, self._sending, number, result[1] if result[0] else -1)

    def _note_chunk(self, kind: Kind, request_id: str, chunk: int, size: int) -> None:
        self.writer.request(kind, now_ns(), request_id, values=(int(chunk), int(size)))

    def _error(self, where: str, error: Exception, request_id: str | None = None) -> None:
        """Once, however many of the recorded methods it passes through."""
        if error is self._raised:
            return
        self._raised = error
        named = error.args[0] if error.args else None
        if request_id is None and self.writer.knows(named):
            request_id = named
        self.writer.error(now_ns(), request_id, f"{where}: {type(error).__name__}: {error}")
