"""What all callers of one Locust process share: plan, server, journal, slots, and when to stop.

Locust calls it through its events. Slots are handed out in one place, the master's (or the only) process, so that every
slot of the plan has one caller, however Locust spreads its users over processes and machines.
"""

import atexit
import gc
import logging
import os
import socket
import threading
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import gevent  # type: ignore[import-untyped]
from locust.env import Environment
from locust.rpc import Message
from locust.runners import MasterRunner, WorkerRunner

from clients import bus, microphone, wire
from clients.caller import Target
from clients.counter import Counter
from rig.bus.publisher import Publisher
from rig.config.load import load_run
from rig.config.run import RunConfig
from rig.errors import RigError, UsageError
from rig.events.journal import Journal
from rig.plan import BACKLOG_S, Plan, make_plan
from rig.plan import read as read_plan

ROLE = "caller"
SLACK_S = 10.0
SLOT_LIMIT_S = 10.0
USAGE_EXIT = 3

WANT_SLOT = "rig_slot_wanted"
HAVE_SLOT = "rig_slot"
FAILED = "rig_failed"
HURRY = "rig_hurry"

log = logging.getLogger("rig.callers")


class Desk:
    """The callers' side of one Locust process. Made once, at Locust's `init` event; raises UsageError."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.stopping = threading.Event()
        self.journal: Journal | None = None
        self._publisher: Publisher | None = None
        self._own_options = bus.own_options(environment.parsed_options)
        self._config: RunConfig | None = None
        self._plan: Plan | None = None
        self._target: Target | None = None
        self._next_slot = 0
        self._slots: SimpleQueue[int] = SimpleQueue()
        self._tests = 0
        self._waiting_for_workers = False
        self.counter = Counter(environment)
        runner = environment.runner
        if isinstance(runner, WorkerRunner):
            runner.register_message(HAVE_SLOT, self._on_slot)
            runner.register_message(HURRY, self._on_hurry)
        else:
            self._fill_in_options()
        if isinstance(runner, MasterRunner):
            runner.register_message(WANT_SLOT, self._on_slot_wanted)
            runner.register_message(FAILED, self._on_failed)
        events = environment.events
        events.test_start.add_listener(self._on_test_start)
        events.test_stopping.add_listener(self._on_test_stopping)
        events.test_stop.add_listener(self._on_test_stop)
        # Listeners of `quitting` run last in, first out: ours before the runner's own, which already stops users.
        events.quitting.add_listener(self._on_quitting)
        events.quit.add_listener(self._close_journal)
        atexit.register(self._close_journal)
        # The loop's clock stands still while modules are imported: a run time counted from it would be too short.
        gevent.get_hub().loop.update_now()

    # ---- what a caller asks for

    def take_slot(self) -> int:
        """A caller slot that no other user of any process has. Raises RigError when the master gives none."""
        runner = self.environment.runner
        if not isinstance(runner, WorkerRunner):
            return self._give_slot()
        runner.send_message(WANT_SLOT)
        try:
            return self._slots.get(timeout=SLOT_LIMIT_S)
        except Empty as error:
            raise RigError(f"the Locust master gave no caller slot within {SLOT_LIMIT_S:g} s") from error

    @property
    def plan(self) -> Plan:
        """The plan of the running test."""
        assert self._plan is not None
        return self._plan

    @property
    def target(self) -> Target:
        """The server of the running test."""
        assert self._target is not None
        return self._target

    def fail(self, error: RigError) -> None:
        """The test cannot go on for a reason that is not the server's: stop everything, exit with a usage error."""
        log.critical("%s", error)
        self.environment.process_exit_code = USAGE_EXIT
        runner = self.environment.runner
        if isinstance(runner, WorkerRunner):
            runner.send_message(FAILED, {"why": str(error)})
        elif runner is not None:
            gevent.spawn(runner.quit)

    # ---- before the test

    def _fill_in_options(self) -> None:
        """Take from the run file what the command line left open; a worker gets it from its master."""
        options = self.environment.parsed_options
        assert options is not None
        config = self._load_config(options)
        load, deadlines = config.load, config.deadlines
        if options.num_users is None:
            options.num_users = load.callers
        if options.spawn_rate is None:
            options.spawn_rate = load.callers
        if options.headless:
            wire.realtime_url(self.environment.host or "", options.rig_model)
            # An open loop ends by itself, after its last call; this is the limit for calls that wait for a slot.
            late_s = BACKLOG_S if self._load_plan(options, config).is_open else 0
            options.run_time = options.run_time or max(1, round(load.duration_s + late_s))
        if self.environment.stop_timeout == 0:
            waits = (deadlines.connect_s, deadlines.return_s, deadlines.first_audio_s, deadlines.reply_s)
            self.environment.stop_timeout = sum(waits) + SLACK_S
        if not options.rig_journal_dir:
            stamp = datetime.now(tz=UTC).strftime("%Y%m%dT%H%M%SZ")
            options.rig_journal_dir = str(Path("results", f"locust-{stamp}-{os.getpid()}", "events").resolve())
            log.info("journals go to %s", options.rig_journal_dir)

    def _load_config(self, options: Any) -> RunConfig:
        config = load_run(Path(options.rig_config))
        return config if options.rig_seed is None else config.model_copy(update={"seed": options.rig_seed})

    def _load_plan(self, options: Any, config: RunConfig) -> Plan:
        if not options.rig_plan:
            return make_plan(config, Path(options.rig_config))
        plan = read_plan(Path(options.rig_plan))
        if options.rig_seed is not None and options.rig_seed != plan.seed:
            raise UsageError(f"--rig-seed {options.rig_seed} contradicts the plan, whose seed is {plan.seed}")
        return plan

    # ---- Locust's events

    def _on_test_start(self, **_: Any) -> None:
        self.stopping.clear()
        self._next_slot = 0
        self._tests += 1
        runner = self.environment.runner
        options = self.environment.parsed_options
        assert options is not None
        try:
            config = self._load_config(options)
            self._plan = self._load_plan(options, config)
            if self._plan.is_open:
                self.counter.open(self._plan)
            if isinstance(runner, MasterRunner):
                if options.rig_begun_file:
                    Path(options.rig_begun_file).touch()
                return  # the master calls nobody
            wire.realtime_url(self.environment.host or "", options.rig_model)
            self._target = Target(self.environment.host or "", options.rig_model, self._plan.seed, config.deadlines)
            self._open_journal(bus.settings(options, self._own_options))
        except RigError as error:
            self.fail(error)
            return
        microphone.prepare()
        # What was imported stays: going through all of it again would hold up every caller for tens of milliseconds.
        gc.collect()
        gc.freeze()

    def _open_journal(self, chosen: dict[str, str]) -> None:
        folder = Path(chosen["rig_journal_dir"])
        place = self._place()
        again = "" if self._tests == 1 else f"-{self._tests}"
        folder.mkdir(parents=True, exist_ok=True)
        self._close_journal()
        producer = f"{ROLE}-{place}-{os.getpid()}{again}"
        self.journal = Journal(folder, producer, ROLE)
        self._publisher = bus.publish(self.journal, producer, ROLE, chosen, self._on_refused)

    def _place(self) -> str:
        """What tells this process from the others of the run; beside a pid, which another host gives out, too."""
        runner = self.environment.runner
        if not isinstance(runner, WorkerRunner):
            return "local"
        here = runner.master_host in ("127.0.0.1", "localhost")
        return str(runner.worker_index) if here else f"{runner.worker_index}-{socket.gethostname()}"

    def _on_test_stopping(self, **_: Any) -> None:
        self.stopping.set()
        self.counter.close()
        runner = self.environment.runner
        if not isinstance(runner, MasterRunner) or self._waiting_for_workers or self.environment.stop_timeout == 0:
            return
        # At the end of the run time a master quits without waiting for the users of its workers; `stop` does wait.
        self._waiting_for_workers = True
        runner.stop()
        self._waiting_for_workers = False

    def _on_test_stop(self, **_: Any) -> None:
        self._close_journal()
        if isinstance(self.environment.runner, WorkerRunner):
            # After a stop a worker sleeps for its stop timeout before it listens again; its users are gone already.
            self.environment.stop_timeout = 0.0

    def _on_quitting(self, **_: Any) -> None:
        """Ctrl-C, SIGTERM or the end. A call that still runs then is not waited for, and recorded as unfinished."""
        self._on_hurry()
        runner = self.environment.runner
        if isinstance(runner, MasterRunner):
            runner.send_message(HURRY)
        if self.environment.process_exit_code is None:
            self.environment.process_exit_code = 1 if runner is not None and runner.exceptions else 0

    def _on_hurry(self, **_: Any) -> None:
        self.environment.stop_timeout = 0.0

    def _close_journal(self, **_: Any) -> None:
        if self.journal is not None:
            self.journal.close()
        if self._publisher is not None:
            self._publisher.close()

    def _on_refused(self, why: str) -> None:
        self.fail(UsageError(f"the rig refused this process's events: {why}"))

    # ---- messages between master and workers

    def _give_slot(self) -> int:
        slot = self._next_slot
        self._next_slot += 1
        return slot

    def _on_slot_wanted(self, msg: Message, **_: Any) -> None:
        runner = self.environment.runner
        assert isinstance(runner, MasterRunner)
        runner.send_message(HAVE_SLOT, {"slot": self._give_slot()}, msg.node_id)

    def _on_slot(self, msg: Message, **_: Any) -> None:
        self._slots.put((msg.data or {})["slot"])

    def _on_failed(self, msg: Message, **_: Any) -> None:
        self.fail(RigError(str((msg.data or {}).get("why"))))
