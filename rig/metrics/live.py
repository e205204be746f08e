"""The metrics of a run that goes on, from its journals as they grow."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from prometheus_client.metrics_core import Metric as Family

from rig.config.load import AnyPipeline
from rig.config.run import RunConfig
from rig.events.types import AnyEvent, CallEvent, CallStarted
from rig.fold import Guarded
from rig.follow import Follow
from rig.history import Call, History, OpenCalls
from rig.measure import FIGURES, Figure
from rig.metrics.board import Board, families
from rig.metrics.calls import CallCounts
from rig.metrics.common import put_journals, put_plan, working
from rig.metrics.facts import Facts
from rig.metrics.figures import figures_board
from rig.plan import Plan
from rig.progress import left_s

LOST_START = "unknown"
"""Scenario of events whose call's first event is lost."""


class LiveMetrics:
    """A run that goes on; see rig.follow.Taker.

    Counters move with the events. Figures get a call's values some seconds after it has ended, because only a whole
    call can be measured, and they are the same measures that the report has.
    """

    def __init__(self, folder: Path, config: RunConfig, pipeline: AnyPipeline, plan: Plan) -> None:
        self._folder = folder
        self._config = config
        self._pipeline = pipeline
        self._plan = plan
        self._facts = Facts()
        self._counts = CallCounts()
        self._scenarios: dict[str, str] = {}
        self._open: dict[str, OpenCalls] = {}
        self._measures: tuple[Guarded[Figure], ...] = ()

    def take(self, producer: str, events: Sequence[AnyEvent]) -> None:
        """See rig.follow.Taker."""
        if not self._measures:
            self._measures = tuple(Guarded(kind, self._history(events[0])) for kind in FIGURES)
            for measure in working(self._measures):
                # One window for all: nobody asks here when a value came.
                measure.measured.bin_ns = 1 << 62
        self._facts.take_all(events)
        for event in events:
            if isinstance(event, CallEvent):
                if type(event) is CallStarted:
                    self._scenarios[event.call] = event.behaviour
                self._counts.take(event, self._scenarios.get(event.call, LOST_START))
        self._measure(self._open.setdefault(producer, OpenCalls()).take(events))

    def collect(self, follow: Follow, now_ns: int) -> list[Family]:
        """How things stand now; asked through `Follow.ask`."""
        facts, now = self._facts, Board()
        gone_ns = 0 if facts.phase_ns is None else now_ns - facts.phase_ns
        left = left_s(self._config, facts.phase, gone_ns)
        if left is not None:
            now.set("rig_phase_time_left_seconds", max(0.0, left))
        if facts.watched:
            now.set("rig_check_findings", facts.board.total("rig_process_deaths"), "liveness")
        now.set("rig_check_findings", self._counts.stuck, "progress")
        now.set("rig_check_findings", self._counts.board.total("rig_connections_lost"), "connections")
        put_journals(now, follow.missing, follow.damaged)
        put_plan(now, self._folder.name, self._config, self._pipeline, self._plan, self._counts)
        figures = figures_board(working(self._measures))
        return families((now, facts.board, facts.gauges(now_ns), self._counts.board, self._counts.gauges(), figures))

    def _measure(self, complete: Iterator[Sequence[Call]]) -> None:
        for calls in complete:
            for measure in self._measures:
                measure.see(calls)
            for call in calls:
                self._scenarios.pop(call.start.call, None)

    def _history(self, first: AnyEvent) -> History:
        """What measures ask of a history before they see calls: the config, and when it began."""
        return History(self._folder, self._config, self._pipeline, self._plan, None, (), (), (first,), ())
