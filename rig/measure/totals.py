"""Totals: what happened how often. No figure, but what every report and requirement counts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rig.events.types import (
    Act,
    ActTaken,
    AudioReceived,
    CallEnded,
    CallStarted,
    FramesSent,
    Outcome,
    Refused,
    SessionReady,
    TurnEnded,
)
from rig.fold import Fold
from rig.history import Call, History
from rig.measure.barge_in_stop import BargeInStopCancel, BargeInStopSpeech
from rig.measure.figure import MAX_BINS, window_ns
from rig.measure.reconnect import ReconnectNew, ReconnectResumed

BARGE_INS = (Act.BARGE_IN_SPEECH, Act.BARGE_IN_CANCEL)

LOST_TURNS = frozenset({Outcome.LOST, Outcome.NO_REPLY, Outcome.NO_END})
"""Turns that the server left without a whole reply; what callers gave up or the server refused is not among them."""


def lost(turns: Mapping[Outcome, int] | Mapping[str, int]) -> int:
    """Of turns by outcome those that are lost."""
    return sum(turns.get(outcome, 0) for outcome in LOST_TURNS)


def ended(turns: Mapping[Outcome, int] | Mapping[str, int]) -> int:
    """Of turns by outcome those whose end is known; a run that ended in the middle of some leaves these out."""
    return sum(count for outcome, count in turns.items() if outcome != Outcome.UNFINISHED)


@dataclass
class Totals:
    """Counts over a whole run.

    `sessions` were opened (a resumed one was counted when it was opened), `resumed` taken up again. `cut_replies` were
    cut by a barge-in: the server ended them after the act and they had not ended by themselves. `returns` after a
    hang-up got first audio. `samples` of audio at 24 kHz were received, `spoken_ns` of audio (silence included) were
    sent. Windows are those of the figures, counted from 0. `starts` holds the start of every call.
    """

    starts: list[CallStarted] = field(default_factory=list)
    callers: set[int] = field(default_factory=set)
    behaviours: Counter[str] = field(default_factory=Counter)
    calls: Counter[Outcome] = field(default_factory=Counter)
    turns: Counter[Outcome] = field(default_factory=Counter)
    acts: Counter[Act] = field(default_factory=Counter)
    sessions: int = 0
    resumed: int = 0
    refused: int = 0
    cut_replies: int = 0
    returns: int = 0
    samples: int = 0
    spoken_ns: int = 0
    turns_by_behaviour: dict[str, Counter[Outcome]] = field(default_factory=dict)
    turns_by_window: dict[int, Counter[Outcome]] = field(default_factory=dict)

    @property
    def barge_ins(self) -> int:
        """Barge-ins that were tried."""
        return sum(self.acts[act] for act in BARGE_INS)


class TotalsFold(Fold[Totals]):
    """Counts."""

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._totals = Totals()
        self._window_ns = window_ns(history)
        self._stops = (BargeInStopSpeech(history), BargeInStopCancel(history))
        self._returns = (ReconnectNew(history), ReconnectResumed(history))

    def see(self, call: Call) -> None:
        """Count what the call did; calls of the probe are no load."""
        if call.is_probe:
            return
        totals = self._totals
        totals.starts.append(call.start)
        totals.callers.add(call.start.caller)
        totals.behaviours[call.start.behaviour] += 1
        totals.calls.update(event.outcome for event in call.of(CallEnded))
        outcomes = [event.outcome for event in call.of(TurnEnded)]
        totals.turns.update(outcomes)
        for event in call.of(TurnEnded):
            window = min((event.t_ns - self.history.origin_ns) // self._window_ns, MAX_BINS - 1)
            totals.turns_by_window.setdefault(window, Counter())[event.outcome] += 1
        totals.turns_by_behaviour.setdefault(call.start.behaviour, Counter()).update(outcomes)
        totals.spoken_ns += sum([len(sent.slips_us) * sent.interval_ns for sent in call.of(FramesSent)])
        totals.acts.update(event.act for event in call.of(ActTaken))
        ready = call.of(SessionReady)
        totals.resumed += sum(event.resumed for event in ready)
        totals.sessions += sum(not event.resumed for event in ready)
        totals.refused += len(call.of(Refused))
        totals.samples += sum([chunk.samples for chunk in call.of(AudioReceived)])
        for fold in (*self._stops, *self._returns):
            fold.see(call)

    def result(self) -> Totals:
        """All counts."""
        self._totals.cut_replies = sum(fold.result().n for fold in self._stops)
        self._totals.returns = sum(fold.result().n for fold in self._returns)
        return self._totals
