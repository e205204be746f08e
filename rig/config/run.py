"""The run file: which callers meet which pipeline, for how long, and what must have happened to believe it."""

from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from rig.config.base import StrictModel
from rig.scripts import HangUpHow, HangUpWhen, InterruptBy, Return

Weight = Annotated[float, Field(ge=0, le=1_000)]
Seconds = Annotated[float, Field(ge=0, le=7 * 86_400)]
Option = TypeVar("Option")


def _some_weight_above_zero(weights: dict[Option, float]) -> dict[Option, float]:
    if not any(weight > 0 for weight in weights.values()):
        raise ValueError("no option has a weight above 0")
    return weights


Weights = Annotated[dict[Option, Weight], AfterValidator(_some_weight_above_zero)]


class Span(StrictModel):
    """A closed interval from which values are drawn evenly."""

    low: Annotated[float, Field(ge=0, description="smallest value")]
    high: Annotated[float, Field(ge=0, description="largest value")]

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.high < self.low:
            raise ValueError(f"high ({self.high}) is below low ({self.low})")
        return self


class Polite(StrictModel):
    """Callers who wait for the end of each reply."""

    weight: Annotated[Weight, Field(description="share of calls, relative to the other behaviours")]
    turns: Annotated[Span, Field(description="how many turns a call has")]


class BargeIn(StrictModel):
    """Callers who interrupt replies."""

    weight: Annotated[Weight, Field(description="share of calls, relative to the other behaviours")]
    turns: Annotated[Span, Field(description="how many turns a call has")]
    by: Annotated[Weights[InterruptBy], Field(description="how replies are interrupted, with weights")]
    after_audio_s: Annotated[Span, Field(description="seconds of the reply received before the interruption")]


class HangUps(StrictModel):
    """Callers who hang up and come back at once."""

    weight: Annotated[Weight, Field(description="share of calls, relative to the other behaviours")]
    how: Annotated[Weights[HangUpHow], Field(description="how the connection ends, with weights")]
    when: Annotated[Weights[HangUpWhen], Field(description="when the caller hangs up, with weights")]
    then: Annotated[Weights[Return], Field(description="how the caller comes back, with weights")]
    after_s: Annotated[Span, Field(description="seconds into the chosen moment")]


class Behaviours(StrictModel):
    """The mix of callers; a behaviour left out does not occur."""

    polite: Annotated[Polite | None, Field(description="callers who wait")] = None
    barge_in: Annotated[BargeIn | None, Field(description="callers who interrupt")] = None
    hang_up: Annotated[HangUps | None, Field(description="callers who hang up and return")] = None

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if not any(part is not None and part.weight > 0 for part in (self.polite, self.barge_in, self.hang_up)):
            raise ValueError("no behaviour has a weight above 0")
        return self


class Load(StrictModel):
    """How many callers, and for how long new calls begin."""

    callers: Annotated[int, Field(ge=1, le=10_000, description="caller slots: at most this many calls at once")]
    processes: Annotated[int, Field(ge=1, le=64, description="Locust processes that share the callers")] = 1
    duration_s: Annotated[Seconds, Field(description="seconds during which calls begin")]
    pause_s: Annotated[Span, Field(description="seconds a caller waits between its calls")]
    think_s: Annotated[Span, Field(description="seconds of silence before a caller speaks")]


class Deadlines(StrictModel):
    """After how long something that did not happen counts as not happening."""

    connect_s: Annotated[Seconds, Field(description="TCP connect, handshake and session.created")]
    first_audio_s: Annotated[Seconds, Field(description="end of speech to first audio of the reply")]
    reply_s: Annotated[Seconds, Field(description="first audio to the terminal event of the reply")]
    return_s: Annotated[Seconds, Field(description="how long a returning caller tries again while refused")]


class Watch(StrictModel):
    """How the server is watched."""

    health_interval_s: Annotated[Seconds, Field(gt=0, description="seconds between GET /health")] = 1.0
    memory_interval_s: Annotated[Seconds, Field(gt=0, description="seconds between samples of memory")] = 5.0
    after_load_s: Annotated[Seconds, Field(description="seconds of watching after the last caller")] = 20.0


class Playback(StrictModel):
    """The loudspeaker that a caller is thought to have; it changes figures, never what the callers do."""

    jitter_buffer_s: Annotated[
        Seconds, Field(description="seconds the player waits after the first audio of a reply")
    ] = 0


class Require(StrictModel):
    """What must have happened at least; below it the verdict is unknown, never pass."""

    sessions: Annotated[int, Field(ge=1, description="sessions that were opened")] = 1
    cut_replies: Annotated[int, Field(ge=0, description="replies cut by a barge-in")] = 0
    returns: Annotated[int, Field(ge=0, description="returns after a hang-up that got first audio")] = 0


class RunConfig(StrictModel):
    """One run."""

    question: Annotated[str, Field(min_length=10, description="what this run is to answer, in one sentence")]
    pipeline: Annotated[Path, Field(description="pipeline file, relative to this file")]
    seed: Annotated[int, Field(ge=0, lt=2**63, description="the one seed of the plan")]
    load: Load
    behaviours: Behaviours
    deadlines: Deadlines
    watch: Watch = Watch()
    playback: Playback = Playback()
    require: Require = Require()
    schema_version: Literal[1] = 1
