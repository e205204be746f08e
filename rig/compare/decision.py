"""From two sides to one word: better, same, traded, worse, cannot tell.

Deaths decide first, then lost slots, lost turns, failed runs and latencies: the first criterion in which the sides
differ by more than chance. A B that is better there and still shows a fault is not called better: it trades one for the
other, and the sentence says so ("lives, but loses slots").
"""

import enum
from collections.abc import Mapping, Sequence

import msgspec

from rig.compare.criteria import (
    ALPHA,
    LEAST_PAIRS,
    Criterion,
    Latency,
    Pairs,
    cannot_show,
    criteria_of,
    latencies_of,
)
from rig.compare.facts import Facts
from rig.compare.sides import Side, side_of


class Word(enum.StrEnum):
    """What a comparison came to, seen from side B."""

    BETTER = "better"
    SAME = "same"
    TRADED = "traded"
    WORSE = "worse"
    CANNOT_TELL = "cannot tell"


class Decision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The word, a sentence that begins with it (or says the trade), and the exit code: 0 lets B through.

    0: B is better or the same, and showed no fault. 1: B is worse, trades one fault for another, or has A's fault too.
    2: cannot tell.
    """

    word: Word
    sentence: str
    exit_code: int


class Comparison(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that two sides came to."""

    pairs: int
    used_pairs: int
    left_out: tuple[str, ...]
    a: Side
    b: Side
    criteria: tuple[Criterion, ...]
    latencies: tuple[Latency, ...]
    decision: Decision
    cannot_show: tuple[str, ...]


def compare(spec_a: str, spec_b: str, pairs: Mapping[int, tuple[Facts, Facts]]) -> Comparison:
    """Compare by pairs of runs with the same calls. A pair with a run that says nothing is left out, on both sides."""
    used = {number: pair for number, pair in pairs.items() if all(run.believed for run in pair)}
    left_out = tuple(_left_out(number, pairs[number]) for number in pairs if number not in used)
    good = list(used.values())
    a, b = (side_of(spec, [pair[side] for pair in good]) for side, spec in enumerate((spec_a, spec_b)))
    criteria, latencies = criteria_of(good, a, b), latencies_of(good)
    decision = decide(good, a, b, criteria, latencies)
    shown = cannot_show(good, latencies)
    return Comparison(len(pairs), len(good), left_out, a, b, criteria, latencies, decision, shown)


def _left_out(number: int, pair: tuple[Facts, Facts]) -> str:
    why = [f"{side}: {run.sentence}" for side, run in zip("AB", pair, strict=True) if not run.believed]
    return f"pair {number + 1}: {'; '.join(why)}"


def decide(pairs: Pairs, a: Side, b: Side, criteria: Sequence[Criterion], latencies: Sequence[Latency]) -> Decision:
    """The word for these sides."""
    if not pairs:
        return _cannot_tell("no pair of runs can be believed")
    first = next((one for one in criteria if one.decided), None)
    if first is None:
        return _by_chance_or_latency(len(pairs), a, b, criteria, latencies)
    told = f"{first.name}: {first.a} on A, {first.b} on B (p = {first.p:.2g})"
    if first.decided > 0:
        return _worse(told)
    slower = [f"is slower ({one.name} {one.p50.value:.2f} times)" for one in latencies if one.found == "slower"]
    return _better(_gain(first, b), told, b.flaws, slower)


def _gain(first: Criterion, b: Side) -> str:
    if first.name == "deaths" and b.died.hits == 0:
        return "lives"
    return {"deaths": "dies less", "lost slots": "keeps more slots", "lost turns": "loses fewer turns"}.get(
        first.name, "fails less"
    )


def _better(gain: str, told: str, flaws: Sequence[str], slower: Sequence[str]) -> Decision:
    if flaws:
        return Decision(Word.TRADED, f"{gain}, but {'; '.join((*flaws, *slower))}; {told}", 1)
    tail = f"; it {', '.join(slower)}" if slower else ""
    return Decision(Word.BETTER, f"better: B {gain}; {told}{tail}", 0)


def _by_chance_or_latency(
    n: int, a: Side, b: Side, criteria: Sequence[Criterion], latencies: Sequence[Latency]
) -> Decision:
    seen = [f"{one.name} {one.a} on A, {one.b} on B (p = {one.p:.2g})" for one in criteria if one.gap != 0]
    if n < LEAST_PAIRS:
        more = f"; seen: {'; '.join(seen)}" if seen else ", and no difference was seen"
        return _cannot_tell(f"{n} pairs are too few for any proof ({LEAST_PAIRS} are the least){more}")
    if seen:
        return _cannot_tell(f"chance alone does this often enough: {'; '.join(seen)}")
    if a.died.hits == b.died.hits == n:
        return Decision(Word.SAME, f"same: both sides die in all {n} runs", 1)
    return _by_latency(n, b, latencies)


def _by_latency(n: int, b: Side, latencies: Sequence[Latency]) -> Decision:
    """Nothing but latencies can tell these sides apart."""
    kinds = {kind: [one for one in latencies if one.found == kind] for kind in ("slower", "faster", "open")}
    slower, faster, unclear = (_named(kinds[kind]) for kind in ("slower", "faster", "open"))
    if slower:
        if faster:
            return Decision(Word.TRADED, f"faster, but also slower: faster {faster}; slower {slower}", 1)
        return _worse(f"slower: {slower}")
    if faster:
        return _better("is faster", faster, b.flaws, [])
    flaws = b.flaws
    if flaws:
        return _cannot_tell(f"both sides show the same faults in some runs only: B {'; '.join(flaws)}")
    if unclear or not latencies:
        what = f"latencies are open: {unclear}" if unclear else "no latency could be compared"
        return _cannot_tell(f"no difference was seen in {n} pairs, but {what}")
    return Decision(Word.SAME, f"same: no fault on either side in {n} pairs, latencies within 10 %", 0)


def _named(latencies: Sequence[Latency]) -> str:
    return ", ".join(f"{one.name} {one.deciding.value:.2f} times{_interval(one)}" for one in latencies)


def _interval(one: Latency) -> str:
    low, high = one.deciding.low, one.deciding.high
    if low is None or high is None:
        return " (no interval)"
    return f" ({low:.2f} to {high:.2f} at {100 * one.deciding.level:.3g} %)"


def _worse(why: str) -> Decision:
    return Decision(Word.WORSE, f"worse: {why}", 1)


def _cannot_tell(why: str) -> Decision:
    return Decision(Word.CANNOT_TELL, f"cannot tell: {why}", 2)


__all__ = ["ALPHA", "Comparison", "Decision", "Word", "compare", "decide"]
