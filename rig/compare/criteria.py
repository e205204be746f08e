"""Where two sides differ: one test a criterion, the gravest first, and what a number of pairs can show at all."""

from collections.abc import Mapping, Sequence

import msgspec

from rig.compare.facts import TIMED, Facts
from rig.compare.proportion import clopper_pearson, fisher
from rig.compare.ratio import Ratio, least_pairs, paired_ratio
from rig.compare.sides import Side
from rig.compare.signs import sign_flip

ALPHA = 0.05
MATTERS = 1.10
"""A latency that is up to a tenth more or less on one side counts as the same."""

Pairs = Sequence[tuple[Facts, Facts]]


class Criterion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One comparison. `gap` is below 0 where B is better; with `p` of ALPHA or more it may be chance.

    `p` is None where one side has nothing to compare: a server that died has no slots to probe.
    """

    name: str
    a: str
    b: str
    gap: float
    p: float | None

    @property
    def decided(self) -> int:
        """1 where B is worse, -1 where it is better, 0 where nobody can tell."""
        return 0 if self.p is None or self.p >= ALPHA or self.gap == 0 else (1 if self.gap > 0 else -1)


class Latency(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One figure on both sides: ratios B to A of medians and of 95th percentiles, and the interval that decides.

    `deciding` is the ratio of medians at a level so high that all figures together are wrong in ALPHA of all cases.
    """

    name: str
    p50: Ratio
    p95: Ratio
    deciding: Ratio

    @property
    def found(self) -> str:
        """`slower`, `faster`, `same` (within MATTERS), or `open`."""
        low, high, value = self.deciding.low, self.deciding.high, self.deciding.value
        if low is None or high is None:
            return "open"
        if low > 1 and value >= MATTERS:
            return "slower"
        if high < 1 and value <= 1 / MATTERS:
            return "faster"
        return "same" if low >= 1 / MATTERS and high <= MATTERS else "open"


def criteria_of(pairs: Pairs, a: Side, b: Side) -> tuple[Criterion, ...]:
    """Deaths, lost slots, lost turns, failed runs; in this order they decide."""
    return (
        _shares("deaths", a, b, "died"),
        _shares("lost slots", a, b, "slots"),
        _turns(pairs),
        _shares("failed runs", a, b, "failed"),
    )


def _shares(name: str, a: Side, b: Side, field: str) -> Criterion:
    one, other = getattr(a, field), getattr(b, field)
    if one.n == 0 or other.n == 0:
        return Criterion(name, f"{one} runs", f"{other} runs", 0.0, None)
    gap, p = other.hits / other.n - one.hits / one.n, fisher(one.hits, one.n, other.hits, other.n)
    return Criterion(name, f"{one} runs", f"{other} runs", gap, p)


def _turns(pairs: Pairs) -> Criterion:
    """Of pairs in which both sides lived: a run that ends with its server loses few turns, because it makes few."""
    lived = [(a, b) for a, b in pairs if not a.died and not b.died]
    gaps = [_lost_share(b) - _lost_share(a) for a, b in lived]
    told = [
        f"{sum(run.lost_turns for run in side)} of {sum(run.turns for run in side)} turns"
        for side in zip(*lived, strict=True)
    ]
    a_told, b_told = told or ("no pair in which both lived",) * 2
    return Criterion("lost turns", a_told, b_told, sum(gaps), sign_flip(gaps) if gaps else None)


def _lost_share(run: Facts) -> float:
    return run.lost_turns / run.turns if run.turns else 0.0


def latencies_of(pairs: Pairs) -> tuple[Latency, ...]:
    """The figures that both sides of some pair have, from the pairs in which both lived and the callers kept time."""
    timed = [(a.waits, b.waits) for a, b in pairs if a.timed and b.timed]
    names = [name for name in TIMED if any(name in a and name in b for a, b in timed)]
    found = []
    for name in names:
        both = [(a[name], b[name]) for a, b in timed if name in a and name in b]
        p50 = [(a.p50, b.p50) for a, b in both]
        wide, ratio = paired_ratio(p50, 1 - ALPHA / len(names)), paired_ratio(p50, 1 - ALPHA)
        tail = paired_ratio([(a.p95, b.p95) for a, b in both], 1 - ALPHA)
        if ratio is not None and tail is not None and wide is not None:
            found.append(Latency(name, ratio, tail, wide))
    return tuple(found)


def least_proof(n: int) -> int | None:
    """In how many of n runs A has to die, and B in none, until that is no chance; None when n is too small for that."""
    return next((hits for hits in range(1, n + 1) if fisher(hits, n, 0, n) < ALPHA), None)


LEAST_PAIRS = next(n for n in range(1, 100) if least_proof(n) is not None)
"""With fewer pairs no outcome proves a difference in deaths."""


def cannot_show(pairs: Pairs, latencies: Sequence[Latency]) -> tuple[str, ...]:
    """In sentences, what this many pairs leave open."""
    n = len(pairs)
    lines = []
    if n < LEAST_PAIRS:
        lines.append(
            f"Fewer than {LEAST_PAIRS} pairs prove no difference, whatever comes out, "
            "even if one side always dies and the other never."
        )
    else:
        lines.append(f"A difference in deaths shows only from {least_proof(n)} of {n} runs against 0 of {n} on.")
    high = clopper_pearson(0, n)[1]
    lines.append(f"A side without a death in {n} runs may still die in up to {high:.0%} of all runs (95 % confidence).")
    lines += _latency_lines({one.name: one for one in latencies})
    lines.append("Other calls, other loads and longer runs than these, and other machines.")
    return tuple(lines)


def _latency_lines(latencies: Mapping[str, Latency]) -> list[str]:
    if not latencies:
        return ["Latencies: there is no pair in which both sides lived and the callers kept time."]
    least, deciding = least_pairs(1 - ALPHA), least_pairs(1 - ALPHA / len(latencies))
    blind = [name for name, one in latencies.items() if one.p50.pairs < least]
    few = [name for name, one in latencies.items() if least <= one.p50.pairs < deciding]
    lines = []
    if blind:
        lines.append(f"{', '.join(blind)}: a 95 % interval needs {least} pairs with values; there is none.")
    if few:
        lines.append(f"{', '.join(few)}: {deciding} pairs with values are needed before a latency may decide.")
    widths = {name: one.p50.width_percent for name, one in latencies.items()}
    wide = [f"{name} {width:.0f} %" for name, width in widths.items() if width is not None]
    if wide:
        lines.append(f"Changes smaller than about half the width of an interval; widths: {', '.join(wide)}.")
    return lines
