"""A figure: a distribution with its origin, and what could not be measured and why."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import msgspec

from rig.clock import to_ms
from rig.fold import Fold
from rig.history import History


@dataclass
class Measured:
    """What one measure found: values in nanoseconds, and a count of cases without a value per reason."""

    name: str
    measurement_origin: str
    values_ns: list[int] = field(default_factory=list)
    unavailable: Counter[str] = field(default_factory=Counter)


class Measure(Fold[Measured]):
    """Base of the measures: a fold with a name and an origin."""

    name: ClassVar[str]
    measurement_origin: ClassVar[str]
    load_only = True

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self.measured = Measured(self.name, self.measurement_origin)

    def result(self) -> Measured:
        """What was measured."""
        return self.measured


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A figure as it is reported, in milliseconds; every statistic is None when there was no value."""

    name: str
    measurement_origin: str
    n: int
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    unavailable: dict[str, int]

    @classmethod
    def of(cls, measured: Measured) -> Self:
        """Summarise what was measured."""
        values = sorted(measured.values_ns)
        return cls(
            name=measured.name,
            measurement_origin=measured.measurement_origin,
            n=len(values),
            mean_ms=to_ms(sum(values)) / len(values) if values else None,
            p50_ms=percentile_ms(values, 50),
            p95_ms=percentile_ms(values, 95),
            p99_ms=percentile_ms(values, 99),
            max_ms=to_ms(values[-1]) if values else None,
            unavailable=dict(sorted(measured.unavailable.items())),
        )


def percentile_ms(sorted_ns: Sequence[int], percent: float) -> float | None:
    """Nearest-rank percentile of sorted nanoseconds, in milliseconds: always a value that really occurred."""
    if not sorted_ns:
        return None
    rank = max(1, math.ceil(len(sorted_ns) * percent / 100))
    return to_ms(sorted_ns[rank - 1])
