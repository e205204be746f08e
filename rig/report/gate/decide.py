"""The decision: pure, from a run's digest, a baseline and the limits.

Unbaselined beats everything: where the baseline does not count, nothing is said for or against the run. Then a run that
cannot be believed is unknown, a broken limit is a fail, and a limit that had to be judged and was not is unknown.
"""

import enum
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from rig.config.gate import Gate, Limit, RateLimit
from rig.errors import UsageError, nearest
from rig.measure.figure import Rate, Unit
from rig.report.comparison.words import told
from rig.report.digest import Digest
from rig.report.facts import Difference
from rig.report.gate.baseline import Baseline
from rig.report.gate.standing import gated, on_purpose
from rig.report.pool import Pooled, needed, pool
from rig.verdict import Verdict

NAMED = 4
"""So many facts are named in the sentence; the list has all."""


class Answer(enum.StrEnum):
    """What the gate says."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"
    UNBASELINED = "unbaselined"

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 2 unknown and unbaselined."""
        return {Answer.PASS: 0, Answer.FAIL: 1}.get(self, 2)


class State(enum.StrEnum):
    """What became of one limit."""

    HELD = "held"
    BROKEN = "broken"
    NOT_JUDGED = "not judged"


class Line(msgspec.Struct, frozen=True):
    """One limit. `required` ones that are not judged make the answer unknown."""

    what: str
    state: State
    text: str
    required: bool = True


class Decision(msgspec.Struct, frozen=True):
    """The answer and all that led to it."""

    answer: Answer
    sentence: str
    run: str
    baseline: str
    verdict: Verdict
    lines: tuple[Line, ...] = ()
    differing: tuple[Difference, ...] = ()
    """Facts that keep the baseline from counting."""
    under_test: tuple[Difference, ...] = ()
    """Facts that differ on purpose."""


def decide(run: Digest, baseline: Baseline, gate: Gate) -> Decision:
    """Hold a run against its baseline. Raises UsageError for a figure or rate that does not exist."""
    mine, theirs = pool([run]), pool(baseline.runs)
    _check_names(gate, mine)
    differing = _differing(run, baseline, gate)
    lines: tuple[Line, ...] = ()
    if differing:
        answer = Answer.UNBASELINED
        sentence = f"the baseline does not count: {_named(differing)}"
    elif run.verdict is Verdict.UNKNOWN:
        answer, sentence = Answer.UNKNOWN, f"the run cannot be believed: {run.sentence.partition(': ')[2]}"
    else:
        lines = (*_of_the_run(run, gate), *_of_figures(mine, theirs, gate), *_of_rates(mine, theirs, gate))
        answer, sentence = _answer(lines, gate)
    return Decision(
        answer=answer,
        sentence=f"{answer.upper()}: {sentence}",
        run=run.run,
        baseline=baseline.name,
        verdict=run.verdict,
        lines=lines,
        differing=tuple(differing),
        under_test=tuple(on_purpose(baseline.runs[0].facts, run.facts, gate.under_test)),
    )


def _differing(run: Digest, baseline: Baseline, gate: Gate) -> list[Difference]:
    wrong = [each for each in baseline.runs if each.verdict not in gate.verdicts]
    verdicts = [Difference("verdict of the baseline", each.verdict, " or ".join(gate.verdicts)) for each in wrong]
    found = {each.key: each for one in baseline.runs for each in gated(one.facts, run.facts, gate.under_test)}
    return [*verdicts[:1], *found.values()]


def _named(differing: Sequence[Difference]) -> str:
    more = len(differing) - NAMED
    return "; ".join(map(str, differing[:NAMED])) + (f"; and {more} more" if more > 0 else "")


def _check_names(gate: Gate, figures: Mapping[str, Pooled]) -> None:
    for group, names, known in (("measures", gate.measures, [*figures]), ("rates", gate.rates, [*_rates(figures)])):
        for name in names:
            if name not in known:
                raise UsageError(f"gate.{group}.{name}: there is no such figure; {nearest(name, known)}")


def _answer(lines: Sequence[Line], gate: Gate) -> tuple[Answer, str]:
    broken = [line for line in lines if line.state is State.BROKEN]
    if broken:
        return Answer.FAIL, f"{len(broken)} of {len(lines)} limits broken: {broken[0].what}: {broken[0].text}"
    missing = [line for line in lines if line.state is State.NOT_JUDGED and line.required]
    if missing:
        return Answer.UNKNOWN, f"{missing[0].what} could not be judged: {missing[0].text}"
    held = [line for line in lines if line.state is State.HELD]
    figures = [line for line in held if line.what.partition(" ")[0] in gate.measures]
    if gate.measures and not figures:
        return Answer.UNKNOWN, "no figure could be judged: there are too few values for every limit"
    return Answer.PASS, f"{len(held)} limits held, {len(lines) - len(held)} not judged"


def _of_the_run(run: Digest, gate: Gate) -> Iterator[Line]:
    allowed = " or ".join(gate.verdicts)
    yield Line("verdict", _state(run.verdict in gate.verdicts), f"{run.verdict}, allowed {allowed}")
    if gate.max_deaths is not None:
        if run.deaths is None:
            yield Line("deaths", State.NOT_JUDGED, "no process of the server was watched; set max_deaths to null")
        else:
            yield Line("deaths", _state(run.deaths <= gate.max_deaths), f"{run.deaths}, at most {gate.max_deaths}")
    if gate.max_lost_turns is not None:
        yield _lost(run, gate.max_lost_turns)


def _lost(run: Digest, most: float) -> Line:
    text = f"{run.turns_lost} of {run.turns_ended} turns, at most {100 * most:g} %"
    if run.turns_ended == 0:
        return Line("lost turns", State.NOT_JUDGED, "no turn ended")
    return Line("lost turns", _state(run.turns_lost <= most * run.turns_ended), text)


def _of_figures(mine: Mapping[str, Pooled], theirs: Mapping[str, Pooled], gate: Gate) -> Iterator[Line]:
    for name, limits in gate.measures.items():
        for statistic, limit in limits.items():
            yield _of_figure(mine[name], theirs.get(name), statistic, limit)


def _of_figure(mine: Pooled, theirs: Pooled | None, statistic: str, limit: Limit) -> Line:
    what, least = f"{mine.name} {statistic}", limit.least_n or needed(statistic)
    counts = (mine.n, None if limit.max_ratio is None else 0 if theirs is None else theirs.n)
    if any(count is not None and count < least for count in counts):
        told_counts = f"{mine.n} values in the run" + ("" if counts[1] is None else f", {counts[1]} in the baseline")
        return Line(what, State.NOT_JUDGED, f"{told_counts}, {least} needed", not limit.optional)
    value = getattr(mine.stats(), statistic)
    assert isinstance(value, float)
    base = None if theirs is None else getattr(theirs.stats(), statistic)
    broken = list(_broken(value, base, mine.unit, limit))
    limits = _limits(base, mine.unit, limit)
    return Line(
        what, _state(not broken), "; ".join(broken) or f"{told(value, mine.unit)}, {limits}", not limit.optional
    )


def _broken(value: float, base: float | None, unit: Unit, limit: Limit) -> Iterator[str]:
    if limit.max is not None and value > limit.max:
        yield f"{told(value, unit)}, at most {told(limit.max, unit)}"
    # As a product, so that a baseline of 0 needs no case of its own: then anything beyond the slack is worse.
    if (
        limit.max_ratio is not None
        and base is not None
        and value > base * limit.max_ratio
        and value - base > limit.slack
    ):
        ratio = "" if base == 0 else f" ({value / base:.2f} times)"
        yield f"{told(value, unit)}{ratio}, {_limits(base, unit, limit)}"


def _limits(base: float | None, unit: Unit, limit: Limit) -> str:
    parts = [] if base is None else [f"baseline {told(base, unit)}"]
    if limit.max_ratio is not None:
        slack = f" or {told(limit.slack, unit)} more" if limit.slack > 0 else ""
        parts.append(f"at most {limit.max_ratio:g} times{slack}")
    if limit.max is not None:
        parts.append(f"at most {told(limit.max, unit)}")
    return ", ".join(parts)


def _of_rates(mine: Mapping[str, Pooled], theirs: Mapping[str, Pooled], gate: Gate) -> Iterator[Line]:
    rates, others = _rates(mine), _rates(theirs)
    for name, limit in gate.rates.items():
        yield _of_rate(rates[name], others.get(name), limit)


def _rates(figures: Mapping[str, Pooled]) -> dict[str, Rate]:
    return {each.rate.name: each.rate for each in figures.values() if each.rate is not None}


def _of_rate(mine: Rate, theirs: Rate | None, limit: RateLimit) -> Line:
    cases = (mine.cases, None if limit.max_drop is None else 0 if theirs is None else theirs.cases)
    if any(count is not None and count < limit.least_n for count in cases):
        told_cases = f"{mine.cases} cases in the run" + ("" if cases[1] is None else f", {cases[1]} in the baseline")
        return Line(mine.name, State.NOT_JUDGED, f"{told_cases}, {limit.least_n} needed", not limit.optional)
    assert mine.value is not None
    floors = [] if limit.min is None else [limit.min]
    if limit.max_drop is not None and theirs is not None and theirs.value is not None:
        floors.append(theirs.value - limit.max_drop)
    floor = max(floors)
    text = f"{100 * mine.value:.1f} %, at least {100 * max(floor, 0):.1f} %"
    # A share is a fraction of whole numbers; its last bit must not decide.
    return Line(mine.name, _state(mine.value >= floor - 1e-9), text, not limit.optional)


def _state(holds: bool) -> State:
    return State.HELD if holds else State.BROKEN
