"""The plan: every call that the callers may make, fixed by config and seed before anything runs.

Pure: same config, same seed, same bytes, in every process and Python version. Only integers and strings travel, and
draws use `Random.random` alone, whose sequence Python guarantees between versions.
"""

import hashlib
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from rig import ids, speech
from rig.clock import NS_PER_MS
from rig.config.run import Behaviours, HangUps, RunConfig, Span
from rig.errors import RigError
from rig.scripts import Behaviour, CallScript, HangUp, HangUpWhen, Interrupt, InterruptBy, TurnScript

Choice = TypeVar("Choice")

PLAN_VERSION = 1
MIN_REPLY_MS = 1_000
"""No reply is shorter than one model unit, so a call lasts at least this long per turn."""


class PlanHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """First line of a plan file."""

    version: int
    seed: int
    callers: int
    calls: int


class Plan(msgspec.Struct, frozen=True):
    """All calls, ordered by caller and index."""

    seed: int
    callers: int
    calls: tuple[CallScript, ...]

    def calls_of(self, caller: int) -> Sequence[CallScript]:
        """The calls of one caller slot, in order."""
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


def make_plan(config: RunConfig) -> Plan:
    """Draw the plan. Each slot gets as many calls as could fit if every call were as short as it can be."""
    calls: list[CallScript] = []
    for caller in range(config.load.callers):
        elapsed_ms = 0
        index = 0
        while elapsed_ms < config.load.duration_s * 1_000:
            call = _call(config, caller, index)
            calls.append(call)
            elapsed_ms += _shortest_ms(call)
            index += 1
    return Plan(config.seed, config.load.callers, tuple(calls))


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
    behaviour = _pick(draw, _behaviour_weights(config.behaviours))
    turns = _turns(config, behaviour, draw)
    pause_ms = _ms(draw, config.load.pause_s)
    return CallScript(ids.call_id(caller, index), caller, index, behaviour, pause_ms, turns)


def _behaviour_weights(behaviours: Behaviours) -> dict[Behaviour, float]:
    parts = {
        Behaviour.POLITE: behaviours.polite,
        Behaviour.BARGE_IN: behaviours.barge_in,
        Behaviour.HANG_UP: behaviours.hang_up,
    }
    return {name: part.weight for name, part in parts.items() if part is not None}


def _turns(config: RunConfig, behaviour: Behaviour, draw: random.Random) -> tuple[TurnScript, ...]:
    behaviours = config.behaviours
    if behaviour is Behaviour.HANG_UP:
        assert behaviours.hang_up is not None
        # One turn to hang up in, one after the return that must be answered.
        return _turn(config, draw, hang_up=_hang_up(behaviours.hang_up, draw)), _turn(config, draw)
    part = behaviours.polite if behaviour is Behaviour.POLITE else behaviours.barge_in
    assert part is not None
    count = max(1, round(_between(draw, part.turns)))
    if behaviour is Behaviour.POLITE:
        return tuple(_turn(config, draw) for _ in range(count))
    return tuple(_turn(config, draw, interrupt=_interrupt(config, draw)) for _ in range(count))


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
