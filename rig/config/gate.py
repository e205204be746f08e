"""The gate file: how much worse than its baseline a run may be."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from rig.config.base import StrictModel

Statistic = Literal["mean", "p50", "p90", "p95", "p99", "p999", "max"]

_MAY_BE_TESTED = ("pipeline.", "versions.", "provenance.")
_NEVER_TESTED = ("pipeline.hardware_label",)


class Limit(StrictModel):
    """What one statistic of one figure may be. A limit that cannot be judged makes the gate unknown."""

    max_ratio: Annotated[float | None, Field(gt=0, description="largest value over that of the baseline")] = None
    max: Annotated[float | None, Field(ge=0, description="largest value, in the unit of the figure")] = None
    slack: Annotated[
        float, Field(ge=0, description="a difference up to this, in the unit of the figure, breaks no `max_ratio`")
    ] = 0
    least_n: Annotated[
        int | None, Field(ge=1, description="values needed on both sides; left out, 5 beyond the percentile")
    ] = None
    optional: Annotated[bool, Field(description="whether it may go unjudged, where values are too few")] = False

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.max_ratio is None and self.max is None:
            raise ValueError("neither `max_ratio` nor `max` is given")
        if self.slack > 0 and self.max_ratio is None:
            raise ValueError("`slack` has no meaning without `max_ratio`")
        return self


class RateLimit(StrictModel):
    """What one rate may be."""

    min: Annotated[float | None, Field(ge=0, le=1, description="smallest value")] = None
    max_drop: Annotated[float | None, Field(ge=0, le=1, description="largest drop below the baseline's value")] = None
    least_n: Annotated[int, Field(ge=1, description="cases needed on both sides")] = 10
    optional: Annotated[bool, Field(description="whether it may go unjudged, where cases are too few")] = False

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.min is None and self.max_drop is None:
            raise ValueError("neither `min` nor `max_drop` is given")
        return self


class Gate(StrictModel):
    """The limits."""

    verdicts: Annotated[
        tuple[Literal["pass", "fail"], ...],
        Field(min_length=1, description="verdicts that run and baseline may have; unknown is never enough"),
    ] = ("pass",)
    max_deaths: Annotated[
        int | None, Field(ge=0, description="processes of the server that may die; none: not limited")
    ] = 0
    max_lost_turns: Annotated[
        float | None, Field(ge=0, le=1, description="share of ended turns that may be lost; none: not limited")
    ] = 0
    measures: Annotated[
        dict[str, dict[Statistic, Limit]], Field(description="limits by figure and statistic; corrected where it is")
    ] = Field(default={})
    rates: Annotated[dict[str, RateLimit], Field(description="limits by rate")] = Field(default={})
    under_test: Annotated[
        tuple[str, ...],
        Field(description="facts that may differ from the baseline, because their change is what is gated"),
    ] = ()

    @field_validator("under_test")
    @classmethod
    def _can_be_tested(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not name.startswith(_MAY_BE_TESTED) or name in _NEVER_TESTED:
                raise ValueError(f"{name} cannot be under test: only pipeline., versions. and provenance. facts can")
        return names


class GateConfig(StrictModel):
    """One gate file."""

    question: Annotated[str, Field(min_length=10, description="what this gate is to answer, in one sentence")]
    gate: Gate
    schema_version: Literal[1] = 1
