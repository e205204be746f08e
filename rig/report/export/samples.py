"""The values behind the figures while the calls pass by once; no more than some thousand are held.

The measures themselves find the values, so that a row stands here for exactly each value of a figure's histogram.
"""

from collections.abc import Iterator
from typing import NamedTuple

from rig.clock import to_s
from rig.events.types import SessionReady
from rig.history import Call, History
from rig.measure import FIGURES
from rig.measure.figure import PER_UNIT, Measure, Sample, Unit, suppressed


class Row(NamedTuple):
    """One value. `corrected` ones were seen by nobody: a stall suppressed them (coordinated omission)."""

    measure: str
    unit: Unit
    behaviour: str
    caller: int
    call: str
    connection: int
    session: str | None
    turn: int | None
    at_s: float
    value: float
    corrected: bool


COLUMNS = Row._fields


def stream(history: History) -> Iterator[list[Row]]:
    """All rows, some at a time. Raises what a measure raises: a file with holes would be taken for whole."""
    rows: list[Row] = []

    def tap(sample: Sample) -> None:
        rows.extend(_rows(sample, history.origin_ns))

    measures: list[Measure] = [kind(history) for kind in FIGURES]
    for measure in measures:
        measure.tap = tap
    for calls in history.calls():
        for call in calls:
            for measure in measures:
                if not (measure.load_only and call.is_probe):
                    measure.see(call)
        if rows:
            yield rows.copy()
            rows.clear()


def _rows(sample: Sample, origin_ns: int) -> Iterator[Row]:
    measure, call = sample.measure, sample.call
    seen = Row(
        measure=measure.name,
        unit=measure.unit,
        behaviour=call.start.behaviour,
        caller=call.start.caller,
        call=call.start.call,
        connection=sample.of.connection,
        session=_session(call, sample.of.connection),
        turn=getattr(sample.of, "turn", None),
        at_s=to_s(sample.at_ns - origin_ns),
        value=sample.value / PER_UNIT[measure.unit],
        corrected=False,
    )
    yield seen
    if sample.interval > 0:
        for value in suppressed(sample.value, sample.interval):
            yield seen._replace(value=value / PER_UNIT[measure.unit], corrected=True)


def _session(call: Call, connection: int) -> str | None:
    """The session that a connection was given, None where it was given none."""
    return next((event.session_id for event in call.of(SessionReady) if event.connection == connection), None)
