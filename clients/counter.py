"""Where free slots ask for open-loop calls: the queue in the master's (or the only) process, and the messages to it.

A worker on another host has another clock; there the planned times are right to the travel time of one message.
"""

import logging
from queue import SimpleQueue
from typing import Any

import gevent  # type: ignore[import-untyped]
from locust.env import Environment
from locust.rpc import Message
from locust.runners import MasterRunner, WorkerRunner

from clients.dispatch import DueCall, OpenQueue, open_call
from rig.clock import NS_PER_S, boot_id, monotonic_ns
from rig.plan import Plan

WANT_CALL = "rig_call_wanted"
HAVE_CALL = "rig_call"

NOTHING: dict[str, Any] = {}
"""The answer that there is no call any more."""

log = logging.getLogger("rig.callers")


class Counter:
    """Made once a process; `open` begins a test, `close` ends it and wakes every slot that waits."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._plan: Plan | None = None
        self._queue: OpenQueue | None = None
        self._waiting: list[str | None] = []
        self._answers: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._begin_ns: int | None = None
        runner = environment.runner
        if isinstance(runner, WorkerRunner):
            runner.register_message(HAVE_CALL, self._on_call)
            return
        environment.events.spawning_complete.add_listener(self._on_spawned)
        if isinstance(runner, MasterRunner):
            runner.register_message(WANT_CALL, self._on_wanted)

    def open(self, plan: Plan) -> None:
        """A test with an open-loop plan begins."""
        self._plan = plan
        self._answers = SimpleQueue()
        self._begin_ns = None
        self._waiting = []
        self._queue = None if isinstance(self._environment.runner, WorkerRunner) else OpenQueue(plan)

    def close(self) -> None:
        """No call is handed out any more."""
        self._queue = None
        self._answers.put(NOTHING)

    def next(self, slot: int, free_ns: int, *, first: bool) -> DueCall | None:
        """Ask for a call, for a slot that is free since `free_ns`; None when there are no more.

        How long a slot took to ask for its `first` call is no excuse for a late start: the rig was late to set it up.
        """
        runner = self._environment.runner
        if isinstance(runner, WorkerRunner):
            runner.send_message(WANT_CALL)
        else:
            self._want(None)
        answer = self._answers.get()
        if not answer:
            self._answers.put(answer)  # for the other slots of this process
            return None
        assert self._plan is not None
        begin_ns = self._begin(answer)
        return open_call(self._plan, answer["place"], slot, begin_ns, begin_ns if first else free_ns)

    def _begin(self, answer: dict[str, Any]) -> int:
        if self._begin_ns is None:
            here = answer["boot_id"] == boot_id()
            self._begin_ns = answer["begin_ns"] if here else monotonic_ns() + answer["begin_in_ns"]
        assert self._begin_ns is not None
        return self._begin_ns

    # ---- in the master's or the only process

    def _want(self, node: str | None) -> None:
        if self._queue is None:
            self._answer(node, NOTHING)
            return
        self._waiting.append(node)
        self._queue.ask(monotonic_ns())
        self._serve()

    def _serve(self) -> None:
        queue = self._queue
        if queue is None or queue.begin_ns is None:
            return
        waiting, self._waiting = self._waiting, []
        for node in waiting:
            was_empty = queue.empty
            place = queue.take()
            now_ns = monotonic_ns()
            times = {"begin_ns": queue.begin_ns, "begin_in_ns": queue.begin_ns - now_ns, "boot_id": boot_id()}
            self._answer(node, NOTHING if place is None else {"place": place, **times})
            if queue.empty and not was_empty:
                gevent.spawn_later(max(0, queue.last_planned_ns - now_ns) / NS_PER_S + 1, self._finish, queue)

    def _answer(self, node: str | None, answer: dict[str, Any]) -> None:
        if node is None:
            self._answers.put(answer)
            return
        runner = self._environment.runner
        assert isinstance(runner, MasterRunner)
        runner.send_message(HAVE_CALL, answer, node)

    def _finish(self, queue: OpenQueue) -> None:
        """Every call has begun: unless somebody at a web UI is to say so, the test is over when the last ones are."""
        options, runner, web_ui = self._environment.parsed_options, self._environment.runner, self._environment.web_ui
        if queue is not self._queue or runner is None or options is None:
            return
        if options.headless or (options.autostart and options.autoquit != -1):
            runner.quit()
            if web_ui is not None:
                web_ui.stop()

    def _on_spawned(self, **_: Any) -> None:
        if self._queue is not None:
            self._queue.begin(monotonic_ns())
            self._serve()

    # ---- messages

    def _on_wanted(self, msg: Message, **_: Any) -> None:
        self._want(msg.node_id)

    def _on_call(self, msg: Message, **_: Any) -> None:
        self._answers.put(msg.data or NOTHING)
