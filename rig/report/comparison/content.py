"""What a comparison says, before it is written as a page or as a text.

The first side is what the others are held against. Nothing here is a verdict: a comparison shows, and judges nothing.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rig.errors import UsageError
from rig.measure.figure import Rate, Stats, Unit
from rig.measure.histogram import Histogram
from rig.report.digest import Digest, digest_of
from rig.report.facts import NOT_RECORDED, same
from rig.report.judgement import judge_folder
from rig.report.pool import Pooled, pool
from rig.verdict import Verdict

LETTERS = "ABCD"
STATISTICS = ("p50", "p95", "p99", "max")
NOT_MEASURED = Stats(0, *(None,) * 9)
_NO_DIFFERENCE = ("provenance.argv",)


@dataclass(frozen=True)
class Side:
    """One side of a comparison: what people call it, and the folders of its runs."""

    label: str
    runs: Sequence[Path]


@dataclass(frozen=True)
class Judged:
    """A side with its runs judged."""

    letter: str
    label: str
    digests: tuple[Digest, ...]
    pooled: Mapping[str, Pooled]

    @property
    def name(self) -> str:
        """Letter and label."""
        return self.letter if self.label == self.letter else f"{self.letter} ({self.label})"


@dataclass(frozen=True)
class Compared:
    """One figure on every side, as seen or corrected. A side without the figure has an empty histogram."""

    name: str
    kind: str
    unit: Unit
    measurement_origin: str
    histograms: tuple[Histogram, ...]
    stats: tuple[Stats, ...]
    seen: tuple[int, ...]
    """How many values each side really saw; a corrected distribution has more."""
    unavailable: tuple[Mapping[str, int], ...]


@dataclass(frozen=True)
class Different:
    """A fact that is not the same in all runs: for each side its values, with how many runs have each."""

    key: str
    values: tuple[Mapping[str, int], ...]


@dataclass(frozen=True)
class Comparison:
    """All that is said."""

    sides: tuple[Judged, ...]
    figures: tuple[Compared, ...]
    rates: tuple[tuple[str, tuple[Rate | None, ...]], ...]
    different: tuple[Different, ...]


def judged_digest(run: Path) -> Digest:
    """Judge a run now, and keep its digest only: a judged run may hold much."""
    return digest_of(judge_folder(run))


def compare(sides: Sequence[Side], digest: Callable[[Path], Digest] = judged_digest) -> Comparison:
    """Hold the sides together, with a digest of every run, one after the other.

    Raises RigError for what is no run, UsageError for wrong sides.
    """
    _check(sides)
    judged = tuple(_judged(letter, side, digest) for letter, side in zip(LETTERS, sides, strict=False))
    names = list(dict.fromkeys(name for side in judged for name in side.pooled))
    return Comparison(
        sides=judged,
        figures=tuple(figure for name in names for figure in _figures(name, judged)),
        rates=tuple(_rates(names, judged)),
        different=tuple(_different(judged)),
    )


def checks_of(comparison: Comparison) -> dict[str, tuple[Counter[Verdict], ...]]:
    """For each check and side, how many runs came to each verdict."""
    names = dict.fromkeys(told.check for side in comparison.sides for run in side.digests for told in run.checks)
    return {
        name: tuple(
            Counter(told.verdict for run in side.digests for told in run.checks if told.check == name)
            for side in comparison.sides
        )
        for name in names
    }


def _check(sides: Sequence[Side]) -> None:
    if not 2 <= len(sides) <= len(LETTERS):
        raise UsageError(f"a comparison has 2 to {len(LETTERS)} sides, not {len(sides)}")
    for side in sides:
        folders = [run.resolve() for run in side.runs]
        if not folders:
            raise UsageError(f"side {side.label} has no run")
        twice = next((folder for folder in folders if folders.count(folder) > 1), None)
        if twice is not None:
            raise UsageError(f"{twice} stands twice on side {side.label}: its values would count twice")


def _judged(letter: str, side: Side, digest: Callable[[Path], Digest]) -> Judged:
    digests = tuple(map(digest, side.runs))
    return Judged(letter, side.label, digests, pool(digests))


def _figures(name: str, sides: Sequence[Judged]) -> list[Compared]:
    pooled = [side.pooled.get(name) for side in sides]
    first = next(each for each in pooled if each is not None)
    empty = Histogram.of(())
    seen = tuple(empty if each is None else each.seen for each in pooled)
    figures = [_compared(first, "as seen", seen, pooled)]
    if any(each is not None and each.corrected is not None for each in pooled):
        corrected = tuple(empty if each is None or each.corrected is None else each.corrected for each in pooled)
        figures.append(_compared(first, "corrected", corrected, pooled))
    return figures


def _compared(first: Pooled, kind: str, histograms: tuple[Histogram, ...], pooled: Sequence[Pooled | None]) -> Compared:
    return Compared(
        name=first.name,
        kind=kind,
        unit=first.unit,
        measurement_origin=first.measurement_origin,
        histograms=histograms,
        stats=tuple(Stats.of(each, first.unit) for each in histograms),
        seen=tuple(0 if each is None else each.n for each in pooled),
        unavailable=tuple({} if each is None else each.unavailable for each in pooled),
    )


def _rates(names: Sequence[str], sides: Sequence[Judged]) -> list[tuple[str, tuple[Rate | None, ...]]]:
    found = []
    for name in names:
        pooled = [side.pooled.get(name) for side in sides]
        rates = tuple(None if each is None else each.rate for each in pooled)
        named = next((rate.name for rate in rates if rate is not None), None)
        if named is not None:
            found.append((named, rates))
    return found


def _different(sides: Sequence[Judged]) -> list[Different]:
    keys = sorted({key for side in sides for run in side.digests for key in run.facts})
    found = []
    for key in keys:
        values = tuple(Counter(run.facts.get(key, NOT_RECORDED) for run in side.digests) for side in sides)
        every = sorted({value for counted in values for value in counted})
        if key not in _NO_DIFFERENCE and not all(_alike(key, every[0], value) for value in every[1:]):
            found.append(Different(key, values))
    return found


def _alike(key: str, left: str, right: str) -> bool:
    return left == right or (NOT_RECORDED not in (left, right) and same(key, left, right))
