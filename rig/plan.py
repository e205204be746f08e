"""The plan: every call that the callers may make, fixed by config and seed before anything runs.

Same config, same seed, same bytes, in every process and Python version. Only integers and strings travel, and draws use
`Random.random` alone, whose sequence Python guarantees between versions. A replay reads its calls from a plan file.
"""

import hashlib
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from rig import ids, speech
from rig.arrivals import starts_us
from rig.clock import NS_PER_MS
from rig.config.arrivals import AtRate, Closed, Replay
from rig.config.run import BargeIn, Behaviours, HangUps, Load, Polite, RunConfig, Span
from rig.errors import RigError, UsageError
from rig.ids import CallId
from rig.scripts import OPEN_SLOT, Behaviour, CallScript, HangUp, HangUpWhen, Interrupt, InterruptBy, TurnScript

Choice = TypeVar("Choice")

PLAN_VERSION = 1
PLAN_FILE = "plan.jsonl"
BACKLOG_S = 30.0
"""How long after the load open-loop calls may still begin that had to wait for a free slot."""

MIN_REPLY_MS = 1_000
"""No reply is shorter than one model unit, so a call lasts at least this long per turn."""


class PlanHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """First line of a plan file."""

    version: int
    seed: int
    callers: int
    calls: int


class Plan(msgspec.Struct, frozen=True):
    """All calls, ordered by caller and index; open-loop calls by their planned start."""

    seed: int
    callers: int
    calls: tuple[CallScript, ...]

    @property
    def is_open(self) -> bool:
        """Whether calls begin at planned times, whatever became of the calls before."""
        return any(call.start_us is not None for call in self.calls)

    def calls_of(self, caller: int) -> Sequence[CallScript]:
        """The calls of one caller slot, in order; an open-loop call belongs to none."""
        return [call for call in self.calls if call.caller == caller]

    def turn_intervals_ns(self) -> dict[int, int]:
        """How often each caller slot means to take its turn, on average: pauses, speech and the least of a reply."""
        spent_ms: dict[int, int] = {}
        turns: dict[int, int] = {}
        for call in self.calls:
            spent_ms[call.caller] = spent_ms.get(call.caller, 0) + _shortest_ms(call)
            turns[call.caller] = turns.get(call.caller, 0) + sum(turn.hang_up is None for turn in call.turns)
        return {caller: spent_ms[caller] * NS_PER_MS // count for caller, count in turns.items() if count > 0}

    def encode(self) -> bytes:
        """The plan as JSON lines: a head, then a line a call."""
        head = PlanHead(PLAN_VERSION, self.seed, self.callers, len(self.calls))
        return b"".join(msgspec.json.encode(line) + b"\n" for line in (head, *self.calls))

    def sha256(self) -> str:
        """Hash of the encoded plan: two runs with the same hash intended the same calls."""
        return hashlib.sha256(self.encode()).hexdigest()


def make_plan(config: RunConfig, run_file: Path | None = None) -> Plan:
    """Draw the plan, or read the one to replay, whose path is relative to the run file.

    Raises UsageError when a plan to replay does not fit the run, RigError when it is none.
    """
    arrivals = config.load.arrivals
    if isinstance(arrivals, Replay):
        return _replayed(config, arrivals, Path() if run_file is None else run_file.parent)
    calls = _closed_calls(config) if isinstance(arrivals, Closed) else _open_calls(config, arrivals)
    return Plan(config.seed, config.load.callers, tuple(calls))


def make_rounds(config: RunConfig, plan: Plan) -> tuple[Plan, ...]:
    """A plan in the parts that are played one after another, one for each of `config.rounds_s`."""
    if len(config.rounds_s) == 1:
        return (plan,)
    slots = [_closed_rounds(config, caller) for caller in range(plan.callers)]
    parts = (tuple(call for calls in each for call in calls) for each in zip(*slots, strict=True))
    return tuple(Plan(plan.seed, plan.callers, calls) for calls in parts)


def _closed_calls(config: RunConfig) -> Iterator[CallScript]:
    for caller in range(config.load.callers):
        for calls in _closed_rounds(config, caller):
            yield from calls


def _closed_rounds(config: RunConfig, caller: int) -> Iterator[list[CallScript]]:
    """In each round a slot gets as many calls as could fit if every call were as short as it can be."""
    load = config.load
    begin_ms = round(load.ramp.up_s * 1_000 * caller / load.callers)
    index = 0
    for length_s in config.rounds_s:
        latest_ms = round((length_s - load.ramp.down_s * caller / load.callers) * 1_000)
        calls: list[CallScript] = []
        elapsed_ms = 0
        while elapsed_ms < latest_ms:
            call = _call(config, caller, index)
            if index == 0 and begin_ms > 0:
                call = replace(call, pause_ms=begin_ms + call.pause_ms)
            elapsed_ms += _shortest_ms(call)
            calls.append(call if load.ramp.down_s == 0 else replace(call, latest_ms=latest_ms))
            index += 1
        yield calls


def _open_calls(config: RunConfig, arrivals: AtRate) -> Iterator[CallScript]:
    """Other arrivals of the same seed bring the same calls, at other times."""
    load = config.load
    times_us = starts_us(arrivals, load.ramp, load.duration_s, ids.rng(config.seed, "arrivals"))
    for index, start_us in enumerate(times_us):
        draw = ids.rng(config.seed, "open-call", index)
        yield _drawn(config, draw, ids.open_call_id(index), OPEN_SLOT, index, start_us)


def replayed_sha256(config: RunConfig, run_file: Path) -> str | None:
    """Hash of the plan file that a run replays, None when it replays none."""
    replay = config.load.arrivals
    if not isinstance(replay, Replay):
        return None
    return hashlib.sha256((run_file.parent / replay.plan).read_bytes()).hexdigest()


def _replayed(config: RunConfig, replay: Replay, folder: Path) -> Plan:
    path = folder / replay.plan
    plan = read(path)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if replay.sha256 not in (None, found):
        raise UsageError(f"{path} is not the plan that the run file means: its sha256 is {found}")
    if plan.seed != config.seed:
        raise UsageError(f"{path} has the seed {plan.seed}, the run file {config.seed}; give both the same")
    if not plan.is_open and plan.callers != config.load.callers:
        raise UsageError(f"{path} has {plan.callers} callers, the run file {config.load.callers}; give both the same")
    last_us = max((call.start_us or 0 for call in plan.calls), default=0)
    if last_us >= config.load.duration_s * 1_000_000:
        raise UsageError(f"{path} begins calls until {last_us / 1e6:g} s; let `duration_s` be more than that")
    return Plan(plan.seed, config.load.callers, plan.calls)


def read(path: Path) -> Plan:
    """Read a plan file. Raises RigError when it is damaged or of another version."""
    try:
        head_line, *lines = path.read_bytes().splitlines()
        head = msgspec.json.decode(head_line, type=PlanHead)
        calls = tuple(msgspec.json.decode(line, type=CallScript) for line in lines)
    except (OSError, ValueError) as error:
        raise RigError(f"{path} is not a plan: {error}") from error
    if head.version != PLAN_VERSION or head.calls != len(calls):
        raise RigError(f"{path}: version {head.version} with {len(calls)} of {head.calls} calls cannot be used")
    return Plan(head.seed, head.callers, calls)


def _call(config: RunConfig, caller: int, index: int) -> CallScript:
    draw = ids.rng(config.seed, "call", caller, index)
    return _drawn(config, draw, ids.call_id(caller, index), caller, index, None)


def _drawn(
    config: RunConfig, draw: random.Random, name: CallId, caller: int, index: int, start_us: int | None
) -> CallScript:
    behaviour = _pick(draw, _behaviour_weights(config.behaviours))
    length, turns = _turns(config, behaviour, draw)
    pause_ms = 0 if start_us is not None else _pause_ms(config.load, draw)
    late_ms = _late_sound_ms(config, name)
    return CallScript(name, caller, index, behaviour, pause_ms, turns, start_us, length=length, late_sound_ms=late_ms)


def _late_sound_ms(config: RunConfig, name: CallId) -> int:
    """From a draw of its own, so that the same calls are made with and without it."""
    part = config.behaviours.late_sound
    if part is None:
        return 0
    draw = ids.rng(config.seed, "late-sound", name)
    return max(1, _ms(draw, part.for_s)) if draw.random() < part.share else 0


def _pause_ms(load: Load, draw: random.Random) -> int:
    assert load.pause_s is not None, "closed arrivals have a pause"
    return _ms(draw, load.pause_s)


def _behaviour_weights(behaviours: Behaviours) -> dict[Behaviour, float]:
    parts = {
        Behaviour.POLITE: behaviours.polite,
        Behaviour.BARGE_IN: behaviours.barge_in,
        Behaviour.HANG_UP: behaviours.hang_up,
    }
    return {name: part.weight for name, part in parts.items() if part is not None}


def _turns(config: RunConfig, behaviour: Behaviour, draw: random.Random) -> tuple[str, tuple[TurnScript, ...]]:
    """The turns of a call, and the name of its length where that was drawn by name."""
    behaviours = config.behaviours
    if behaviour is Behaviour.HANG_UP:
        assert behaviours.hang_up is not None
        # One turn to hang up in, one after the return that must be answered.
        return "", (_turn(config, draw, hang_up=_hang_up(behaviours.hang_up, draw)), _turn(config, draw))
    part = behaviours.polite if behaviour is Behaviour.POLITE else behaviours.barge_in
    assert part is not None
    length, span = _length(behaviours, part, draw)
    count = max(1, round(_between(draw, span)))
    if behaviour is Behaviour.POLITE:
        return length, tuple(_turn(config, draw) for _ in range(count))
    return length, tuple(_turn(config, draw, interrupt=_interrupt(config, draw)) for _ in range(count))


def _length(behaviours: Behaviours, part: Polite | BargeIn, draw: random.Random) -> tuple[str, Span]:
    if part.turns is not None:
        return "", part.turns
    name = _pick(draw, {name: length.weight for name, length in behaviours.lengths.items()})
    return name, behaviours.lengths[name].turns


def _turn(
    config: RunConfig, draw: random.Random, *, interrupt: Interrupt | None = None, hang_up: HangUp | None = None
) -> TurnScript:
    return TurnScript(_utterance(draw), _ms(draw, config.load.think_s), interrupt, hang_up)


def _interrupt(config: RunConfig, draw: random.Random) -> Interrupt:
    assert config.behaviours.barge_in is not None
    by = _pick(draw, config.behaviours.barge_in.by)
    after_ms = _ms(draw, config.behaviours.barge_in.after_audio_s)
    return Interrupt(by, after_ms, _utterance(draw) if by is InterruptBy.SPEECH else None)


def _hang_up(part: HangUps, draw: random.Random) -> HangUp:
    how = _pick(draw, part.how)
    when = _pick(draw, part.when)
    then = _pick(draw, part.then)
    after_ms = _ms(draw, part.after_s)
    # Before session.created there are only milliseconds to hang up in.
    return HangUp(how, when, after_ms // 20 if when is HangUpWhen.BEFORE_CREATED else after_ms, then)


def _shortest_ms(call: CallScript) -> int:
    return call.pause_ms + sum(
        turn.pause_ms + speech.duration_ms(turn.utterance) + MIN_REPLY_MS for turn in call.turns if turn.hang_up is None
    )


def _utterance(draw: random.Random) -> str:
    return speech.NAMES[int(draw.random() * len(speech.NAMES))]


def _between(draw: random.Random, span: Span) -> float:
    return span.low + (span.high - span.low) * draw.random()


def _ms(draw: random.Random, span: Span) -> int:
    return round(_between(draw, span) * 1_000)


def _pick(draw: random.Random, weights: Mapping[Choice, float]) -> Choice:
    """One of the keys by weight, in the order of the mapping."""
    # fsum rounds once: sum() of floats differs between Python 3.11 and 3.12.
    mark = draw.random() * math.fsum(weights.values())
    chosen = None
    for choice, weight in weights.items():
        if weight <= 0:
            continue
        chosen = choice
        mark -= weight
        if mark < 0:
            break
    if chosen is None:
        raise RigError("no weight above 0 to choose from")
    return chosen
