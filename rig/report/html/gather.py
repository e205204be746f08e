"""What the page shows of the calls, gathered while they pass by once: bins, acts, lanes, stories, behaviours."""

from collections import Counter
from dataclasses import dataclass, field

from rig.clock import NS_PER_S, to_s
from rig.events import types as ev
from rig.explained import early_hang_ups_ns
from rig.fold import Fold
from rig.history import Call, History
from rig.report.html.acts import ActLog
from rig.report.html.bins import Axis, Counts, Waits
from rig.report.html.lanes import Lanes
from rig.report.html.stories import Stories, Story

SPEAKS = "speaks"
BARGES_IN = "barges in"
HANGS_UP = "hangs up"
COMES_BACK = "comes back"
REFUSED = "refused"
STUCK = "stuck"
LOST = "lost"
SERIES = (SPEAKS, BARGES_IN, HANGS_UP, COMES_BACK, REFUSED, STUCK, LOST)

WAIT_WIDTH_NS = 4 * NS_PER_S
MAX_WAIT_BINS = 512

_ACTS = {
    ev.Act.BARGE_IN_SPEECH: BARGES_IN,
    ev.Act.BARGE_IN_CANCEL: BARGES_IN,
    ev.Act.HANG_UP_RST: HANGS_UP,
    ev.Act.HANG_UP_FIN: HANGS_UP,
    ev.Act.HANG_UP_CLOSE: HANGS_UP,
}


@dataclass
class Behaviour:
    """What came of the calls of one behaviour."""

    calls: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    turns: Counter[str] = field(default_factory=Counter)
    acts: Counter[str] = field(default_factory=Counter)
    refused: int = 0


@dataclass(frozen=True)
class Gathered:
    """The calls of a run, as the page needs them.

    Counts are by bin of `width_s` seconds; waits by wider bins of `wait_width_s`, or most would hold one value.
    """

    width_s: float
    bins: int
    wait_width_s: float
    counts: dict[str, list[int]]
    running: list[int]
    answered: list[int]
    first_audio_p50_ms: list[float | None]
    first_audio_p99_ms: list[float | None]
    acts: ActLog
    lanes: Lanes
    stories: tuple[Story, ...]
    troubles: int
    behaviours: dict[str, Behaviour]
    early_hang_ups_ns: list[int]


class Gather(Fold[Gathered]):
    """The one fold of the page."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._axis = Axis(history.origin_ns)
        self._counts = {name: Counts(self._axis) for name in SERIES}
        self._running = Counts(self._axis)
        self._wait_axis = Axis(history.origin_ns, WAIT_WIDTH_NS, MAX_WAIT_BINS)
        self._answered = Counts(self._wait_axis)
        self._first_audio = Waits(self._wait_axis)
        self._acts = ActLog()
        self._lanes = Lanes()
        self._stories = Stories(history)
        self._behaviours: dict[str, Behaviour] = {}
        self._hang_ups_ns: list[int] = []
        self._needs_hang_ups = any(not event.expected for event in history.of(ev.LogSignature))

    def see(self, call: Call) -> None:
        """Take a call in."""
        self._acts.see(call)
        self._lanes.see(call)
        self._count(call)
        self._wait(call)
        self._behave(call)
        for trouble in self._stories.see(call):
            self._counts[trouble.kind].add(trouble.t_ns)
        if self._needs_hang_ups:
            self._hang_ups_ns.extend(early_hang_ups_ns(call))

    def result(self) -> Gathered:
        """All of it, in bins that reach to the end of the run."""
        bins = self._axis.place(self.history.last_ns) + 1
        wait_bins = self._wait_axis.place(self.history.last_ns) + 1
        counts = {name: series.values(bins) for name, series in self._counts.items()}
        return Gathered(
            width_s=self._axis.width_s,
            bins=bins,
            wait_width_s=self._wait_axis.width_s,
            counts=counts,
            running=_summed(self._running.values(bins)),
            answered=self._answered.values(wait_bins),
            first_audio_p50_ms=self._first_audio.percentiles_ms(wait_bins, 50),
            first_audio_p99_ms=self._first_audio.percentiles_ms(wait_bins, 99),
            acts=self._acts,
            lanes=self._lanes,
            stories=self._stories.in_time(),
            troubles=self._stories.count,
            behaviours=dict(sorted(self._behaviours.items())),
            early_hang_ups_ns=self._hang_ups_ns,
        )

    def _count(self, call: Call) -> None:
        counts = self._counts
        for act in call.of(ev.ActTaken):
            if act.act in _ACTS:
                counts[_ACTS[act.act]].add(act.t_ns)
        for spoken in call.of(ev.UtteranceEnded):
            counts[SPEAKS].add(spoken.t_ns)
        for start in call.of(ev.ConnectStarted):
            if start.why is not ev.Connect.FIRST and start.attempt == 1:
                counts[COMES_BACK].add(start.t_ns)
        for refused in call.of(ev.Refused):
            counts[REFUSED].add(refused.t_ns)
        self._running.add(call.start.t_ns)
        for ended in call.of(ev.CallEnded):
            self._running.add(ended.t_ns, -1)

    def _wait(self, call: Call) -> None:
        first: dict[tuple[int, int], int] = {}
        for (connection, _), reply in call.replies.items():
            place = connection, reply[0].turn
            first[place] = min(first.get(place, reply[0].t_ns), reply[0].t_ns)
        for spoken in call.of(ev.UtteranceEnded):
            heard_ns = first.get((spoken.connection, spoken.turn))
            if heard_ns is not None and heard_ns >= spoken.planned_ns:
                self._first_audio.add(heard_ns, heard_ns - spoken.planned_ns)
                self._answered.add(heard_ns)

    def _behave(self, call: Call) -> None:
        row = self._behaviours.setdefault(call.start.behaviour, Behaviour())
        row.calls += 1
        row.outcomes.update(event.outcome for event in call.of(ev.CallEnded))
        row.turns.update(event.outcome for event in call.of(ev.TurnEnded))
        row.acts.update(event.act for event in call.of(ev.ActTaken))
        row.refused += len(call.of(ev.Refused))


def seconds(history: History, t_ns: int) -> float:
    """A moment as seconds since the run began."""
    return to_s(t_ns - history.origin_ns)


def _summed(changes: list[int]) -> list[int]:
    total, totals = 0, []
    for change in changes:
        total += change
        totals.append(total)
    return totals
