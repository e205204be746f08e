"""The tables of a comparison as rows of text, for the page and for the Markdown alike."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rig.measure.figure import Rate, Stats, Unit
from rig.report.comparison.content import STATISTICS, Compared, Comparison, Judged, checks_of
from rig.report.html import distributions
from rig.report.pool import enough
from rig.verdict import Verdict

FEW = " °"
TIMES, OVER, MINUS = "\u00d7", "\u00f7", "\u2212"


@dataclass(frozen=True)
class Row:
    """One row; `side` is its letter where it holds values of a side, else it holds ratios or differences."""

    cells: tuple[str, ...]
    side: str | None = None


FIGURE_HEAD = ("figure", "side", "n", *STATISTICS, "no value for")


def figure_rows(comparison: Comparison) -> Iterator[Row]:
    """For each figure the sides, and below each other side its ratio to the first and its difference from it."""
    letters = [side.letter for side in comparison.sides]
    for figure in comparison.figures:
        if not any(figure.seen) and not any(figure.unavailable):
            continue
        for place, letter in enumerate(letters):
            yield Row(_values(figure, place, letter), letter)
        for place, letter in enumerate(letters[1:], start=1):
            yield Row(("", f"{letter} {OVER} {letters[0]}", "", *_ratios(figure, place), ""))
            yield Row(("", f"{letter} {MINUS} {letters[0]}", "", *_differences(figure, place), ""))


def _values(figure: Compared, place: int, letter: str) -> tuple[str, ...]:
    stats, seen = figure.stats[place], figure.seen[place]
    name = f"{figure.name}, {figure.kind}" if place == 0 else ""
    missing = ", ".join(f"{count:,} {why}" for why, count in figure.unavailable[place].items()) or "none"
    cells = (
        told(value, figure.unit) + ("" if value is None or enough(statistic, seen) else FEW)
        for statistic, value in zip(STATISTICS, _of(stats), strict=True)
    )
    return (name, letter, f"{seen:,}", *cells, missing if figure.kind == "as seen" else "")


def _of(stats: Stats) -> tuple[float | None, ...]:
    return tuple(getattr(stats, name) for name in STATISTICS)


def _pairs(figure: Compared, place: int) -> list[tuple[float | None, float | None]]:
    return list(zip(_of(figure.stats[0]), _of(figure.stats[place]), strict=True))


def _ratios(figure: Compared, place: int) -> Iterator[str]:
    for first, other in _pairs(figure, place):
        yield "-" if first is None or other is None or first <= 0 else f"{TIMES} {other / first:.2f}"


def _differences(figure: Compared, place: int) -> Iterator[str]:
    for first, other in _pairs(figure, place):
        yield "-" if first is None or other is None else signed(other - first, figure.unit)


def told(value: float | None, unit: Unit) -> str:
    """A value with its unit, finer than in the report of one run where it is small; a dash where there is none."""
    if unit == "ms" and value is not None and value < 10:
        return f"{value:.1f} ms"
    return f"{value:.3f} s" if unit == "s" and value is not None and value < 1 else distributions.told(value, unit)


def signed(value: float, unit: Unit) -> str:
    """A difference with its sign; what is told as 0 has none."""
    shown = told(abs(value), unit)
    return shown if shown == told(0.0, unit) else f"{'+' if value > 0 else MINUS}{shown}"


def run_rows(comparison: Comparison) -> list[tuple[str, Verdict, tuple[str, ...]]]:
    """For each run its side, its verdict, and name and sentence."""
    return [
        (side.letter, run.verdict, (run.run, run.sentence.partition(": ")[2]))
        for side in comparison.sides
        for run in side.digests
    ]


def check_rows(comparison: Comparison) -> list[tuple[str, list[tuple[str, Verdict | None]]]]:
    """For each check what it came to on each side, with the worst verdict, None where it was not made."""
    return [
        (name, [(_counted(counter), _worst(counter)) for counter in counters])
        for name, counters in checks_of(comparison).items()
    ]


def failed_checks(comparison: Comparison) -> list[tuple[str, str, str, Verdict, str]]:
    """Side, run, check, verdict and finding of every check that did not pass."""
    return [
        (side.letter, run.run, each.check, each.verdict, each.summary)
        for side in comparison.sides
        for run in side.digests
        for each in run.checks
        if each.verdict is not Verdict.PASS
    ]


def _worst(counter: Mapping[Verdict, int]) -> Verdict | None:
    return next((verdict for verdict in (Verdict.FAIL, Verdict.UNKNOWN, Verdict.PASS) if counter.get(verdict)), None)


def _counted(counter: Counter[Verdict]) -> str:
    if counter.total() == 1:
        return str(next(iter(counter)))
    return ", ".join(f"{count} {verdict}" for verdict, count in sorted(counter.items())) or "not made"


def count_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """What happened how often, summed over the runs of each side."""
    rows = (
        ("runs", lambda side: f"{len(side.digests)}"),
        ("recorded for", lambda side: f"{sum(run.duration_s for run in side.digests):,.0f} s"),
        ("processes of the server that died", _deaths),
        ("turns lost: no reply, no end, or connection lost", _lost),
        ("turns by outcome", _turns),
        ("calls", lambda side: f"{sum(run.calls for run in side.digests):,}"),
        ("sessions opened", lambda side: f"{sum(run.sessions for run in side.digests):,}"),
        ("sessions refused", lambda side: f"{sum(run.refused for run in side.digests):,}"),
        ("replies cut by a barge-in", lambda side: f"{sum(run.cut_replies for run in side.digests):,}"),
        ("returns with first audio", lambda side: f"{sum(run.returns for run in side.digests):,}"),
    )
    return [(name, *(of(side) for side in comparison.sides)) for name, of in rows]


def _deaths(side: Judged) -> str:
    known = [run.deaths for run in side.digests if run.deaths is not None]
    unwatched = len(side.digests) - len(known)
    if not known:
        return "not watched"
    return f"{sum(known):,}" + (f" ({unwatched} runs not watched)" if unwatched else "")


def _lost(side: Judged) -> str:
    ended = sum(run.turns_ended for run in side.digests)
    return f"{sum(run.turns_lost for run in side.digests):,} of {ended:,}"


def _turns(side: Judged) -> str:
    turns: Counter[str] = Counter()
    for run in side.digests:
        turns.update(run.turns)
    return ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(turns.items())) or "none"


def rate_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Rates with their cases."""
    return [(name, *(_rate(rate) for rate in rates)) for name, rates in comparison.rates]


def _rate(rate: Rate | None) -> str:
    if rate is None or rate.value is None:
        return "-"
    return f"{100 * rate.value:.1f} % ({rate.hits:,} of {rate.cases:,})"


def different_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Facts that differ, with how many runs of a side have each value where they do not agree."""
    return [(each.key, *(_shares(values) for values in each.values)) for each in comparison.different]


def _shares(values: Mapping[str, int]) -> str:
    if len(values) == 1:
        return next(iter(values))
    runs = sum(values.values())
    return "; ".join(f"{value} (in {count} of {runs})" for value, count in sorted(values.items()))


def heads(comparison: Comparison, *first: str) -> Sequence[str]:
    """The head of a table with a column for each side."""
    return (*first, *(side.letter for side in comparison.sides))
