"""Locust users: each owns one caller slot, and plays one call after another: its own, or the next of an open loop.

Locust starts, counts and stops them and shows a live view; what is measured is in the journal. Options have
environment twins, as Locust's own have.
"""

import sys
from argparse import ArgumentParser
from typing import Any

from locust import User, constant, events, stats, task
from locust.env import Environment
from locust.exception import StopUser

from clients import web
from clients.caller import Call
from clients.desk import USAGE_EXIT, Desk, log
from clients.dispatch import DueCall, SlotCalls
from clients.line import NotDuplexError
from clients.live import LiveJournal, three_figures
from rig.clock import NS_PER_S, monotonic_ns
from rig.errors import RigError

DEFAULT_CONFIG = "configs/runs/smoke.yaml"

_OPTIONS: dict[str, dict[str, Any]] = {
    "--rig-config": {"default": DEFAULT_CONFIG, "help": "run file: deadlines, and the calls where no plan is given"},
    "--rig-plan": {"default": "", "help": "plan file of a run; without it the plan is made from the run file"},
    "--rig-journal-dir": {"default": "", "help": "folder for the journals; without it a new one under results/"},
    "--rig-seed": {"default": None, "type": int, "help": "seed of the plan, instead of the run file's"},
    "--rig-bus-url": {"default": "", "help": "broker for the events, mqtt(s)://host:port; without it journals only"},
    "--rig-bus-run": {"default": "", "help": "run id on the bus: the name of the results folder of `rig run`"},
    "--rig-bus-user": {"default": "", "help": "user name at the broker"},
    "--rig-bus-password-env": {"default": "", "help": "name of the environment variable with the broker's password"},
    "--rig-bus-ca-file": {"default": "", "help": "PEM file of the authority that signed the broker's certificate"},
    "--rig-bus-insecure": {"default": "", "help": "1: take any certificate of the broker"},
    "--rig-standing-file": {"default": "", "help": "where `rig run` tells how the run stands, for the web UI"},
    "--rig-begun-file": {"default": "", "help": "file that the master makes when the load begins"},
    "--rig-model": {"default": "minicpmo", "help": "served model name"},
}

_desk: Desk | None = None


@events.init_command_line_parser.add_listener
def _add_options(parser: ArgumentParser) -> None:
    for flag, settings in _OPTIONS.items():
        twin = flag.removeprefix("--").replace("-", "_").upper()
        parser.add_argument(flag, env_var=twin, include_in_web_ui=False, **settings)


@events.init.add_listener
def _set_up(environment: Environment, **_: Any) -> None:
    global _desk
    stats.bucket_response_time = three_figures
    try:
        _desk = Desk(environment)
        if environment.web_ui is not None and environment.parsed_options is not None:
            web.attach(environment.web_ui, environment.parsed_options.rig_standing_file)
    except RigError as error:
        print(f"rig: {error}", file=sys.stderr)
        sys.exit(USAGE_EXIT)


class VoiceCaller(User):
    """One caller slot."""

    wait_time = constant(0)

    def on_start(self) -> None:
        """Take a slot; its first call is planned from now on."""
        assert _desk is not None
        if _desk.journal is None:
            raise StopUser  # the test could not be set up, and has said why
        self._shared = _desk
        slot = _desk.take_slot()
        self._slot = slot
        self._free_ns = monotonic_ns()
        self._first = True
        self._own_calls = SlotCalls(_desk.plan.calls_of(slot), self._free_ns)
        if slot >= _desk.plan.callers:
            log.warning("user %d has no calls: the plan has %d callers", slot, _desk.plan.callers)

    @task
    def play_next_call(self) -> None:
        """Play the next call at its time; the user stops when there is none, or when the load is over."""
        due = self._next_call()
        if due is None or self._shared.stopping.wait(timeout=max(0, due.planned_ns - monotonic_ns()) / NS_PER_S):
            raise StopUser
        self._play(due)
        self._free_ns = monotonic_ns()

    def _next_call(self) -> DueCall | None:
        if not self._shared.plan.is_open:
            return self._own_calls.next(self._free_ns)
        first, self._first = self._first, False
        if self._slot >= self._shared.plan.callers:
            return None
        return self._shared.counter.next(self._slot, self._free_ns, first=first)

    def _play(self, due: DueCall) -> None:
        assert self._shared.journal is not None
        journal = LiveJournal(self._shared.journal, self.environment.events.request.fire)
        try:
            Call(due.script, self._shared.target, journal).play(due.planned_ns, due.free_ns)
        except NotDuplexError as error:
            self._shared.fail(error)
            raise StopUser from error
