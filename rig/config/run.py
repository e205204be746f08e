"""The run file: which callers meet which pipeline, for how long, and what must have happened to believe it."""

from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from rig.config.arrivals import Arrivals, Closed, Ramp, Replay
from rig.config.base import StrictModel
from rig.config.bus import Bus
from rig.config.metrics import Metrics
from rig.scripts import HangUpHow, HangUpWhen, InterruptBy, Return

Weight = Annotated[float, Field(ge=0, le=1_000)]
Seconds = Annotated[float, Field(ge=0, le=7 * 86_400)]
Option = TypeVar("Option")

MAX_CALLS = 1_000_000
"""No plan has more open-loop calls than this."""


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
    turns: Annotated[Span | None, Field(description="how many turns a call has; without it `lengths` says so")] = None


class BargeIn(StrictModel):
    """Callers who interrupt replies."""

    weight: Annotated[Weight, Field(description="share of calls, relative to the other behaviours")]
    turns: Annotated[Span | None, Field(description="how many turns a call has; without it `lengths` says so")] = None
    by: Annotated[Weights[InterruptBy], Field(description="how replies are interrupted, with weights")]
    after_audio_s: Annotated[Span, Field(description="seconds of the reply received before the interruption")]


class HangUps(StrictModel):
    """Callers who hang up and come back at once."""

    weight: Annotated[Weight, Field(description="share of calls, relative to the other behaviours")]
    how: Annotated[Weights[HangUpHow], Field(description="how the connection ends, with weights")]
    when: Annotated[Weights[HangUpWhen], Field(description="when the caller hangs up, with weights")]
    then: Annotated[Weights[Return], Field(description="how the caller comes back, with weights")]
    after_s: Annotated[Span, Field(description="seconds into the chosen moment")]


class LateSound(StrictModel):
    """Callers whose microphone outlives their goodbye: sound goes on after `session.close`."""

    share: Annotated[float, Field(gt=0, le=1, description="share of all calls, whatever their behaviour")]
    for_s: Annotated[Span, Field(description="seconds of sound after it, unless the server ends the connection first")]


class Length(StrictModel):
    """One length of calls."""

    weight: Annotated[Weight, Field(description="share of calls, relative to the other lengths")]
    turns: Annotated[Span, Field(description="how many turns such a call has")]


class Behaviours(StrictModel):
    """The mix of callers; a behaviour left out does not occur."""

    lengths: Annotated[
        dict[str, Length], Field(description="named lengths, for the behaviours that give no `turns` of their own")
    ] = Field(default={})
    polite: Annotated[Polite | None, Field(description="callers who wait")] = None
    barge_in: Annotated[BargeIn | None, Field(description="callers who interrupt")] = None
    hang_up: Annotated[HangUps | None, Field(description="callers who hang up and return")] = None
    late_sound: Annotated[LateSound | None, Field(description="callers who send sound after their goodbye")] = None

    @model_validator(mode="after")
    def _some_weight(self) -> Self:
        if not any(part is not None and part.weight > 0 for part in (self.polite, self.barge_in, self.hang_up)):
            raise ValueError("no behaviour has a weight above 0")
        return self

    @model_validator(mode="after")
    def _lengths_known(self) -> Self:
        parts = {"polite": self.polite, "barge_in": self.barge_in}
        open_ended = [name for name, part in parts.items() if part is not None and part.turns is None]
        if open_ended and not any(length.weight > 0 for length in self.lengths.values()):
            raise ValueError(f"{open_ended[0]} has no `turns`, and no entry of `lengths` has a weight above 0")
        if self.lengths and not open_ended:
            raise ValueError("`lengths` is for behaviours without `turns`, and there is none")
        return self


class Load(StrictModel):
    """How many callers, when calls begin, and for how long."""

    callers: Annotated[int, Field(ge=1, le=10_000, description="caller slots: at most this many calls at once")]
    processes: Annotated[int, Field(ge=1, le=64, description="Locust processes that share the callers")] = 1
    web_port: Annotated[
        int | None, Field(ge=1, le=65_535, description="port of Locust's web UI on 127.0.0.1; left out, there is none")
    ] = None
    duration_s: Annotated[Seconds, Field(description="seconds during which calls begin")]
    arrivals: Annotated[Arrivals, Field(description="what makes a call begin")] = Closed()
    ramp: Annotated[Ramp, Field(description="growth at the beginning and decline at the end")] = Ramp()
    pause_s: Annotated[
        Span | None, Field(description="seconds a caller waits between its calls (closed loop only)")
    ] = None
    think_s: Annotated[Span, Field(description="seconds of silence before a caller speaks")]

    @model_validator(mode="after")
    def _one_kind_of_load(self) -> Self:
        kind = self.arrivals.kind
        if kind == "closed" and self.pause_s is None:
            raise ValueError("`pause_s` is missing: closed arrivals need it")
        if kind not in ("closed", "replay") and self.pause_s is not None:
            raise ValueError(f"`pause_s` has no meaning with {kind} arrivals: leave it out")
        if self.ramp.up_s + self.ramp.down_s > self.duration_s:
            raise ValueError(f"the ramp of {self.ramp.up_s + self.ramp.down_s:g} s is longer than `duration_s`")
        if isinstance(self.arrivals, Replay) and self.ramp != Ramp():
            raise ValueError("a replay has no ramp: its plan says when calls begin")
        if not isinstance(self.arrivals, Closed | Replay) and self.arrivals.rate * self.duration_s > MAX_CALLS:
            raise ValueError(f"more than {MAX_CALLS} calls: lower `rate` or `duration_s`")
        return self


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


class Memory(StrictModel):
    """What growth of a process's resident memory is a leak."""

    warm_up_s: Annotated[Seconds, Field(description="seconds of the load in which memory may grow")] = 120.0
    least_s: Annotated[Seconds, Field(gt=0, description="a load shorter than this after the warm-up is not judged")] = (
        1_800.0
    )
    growth_per_hour: Annotated[
        float, Field(gt=0, description="share of a process's memory that it may grow in an hour")
    ] = 0.1


class Playback(StrictModel):
    """The loudspeaker that a caller is thought to have; it changes figures, never what the callers do."""

    jitter_buffer_s: Annotated[
        Seconds, Field(description="seconds the player waits after the first audio of a reply")
    ] = 0


class Slots(StrictModel):
    """The probe of the session slots, for servers whose limits are known."""

    probe: Annotated[bool, Field(description="after the load, whether every slot is called at the same moment")] = True
    every_s: Annotated[
        Seconds | None,
        Field(gt=0, description="seconds of load between probes (closed loop only); left out, one at the end"),
    ] = None
    margin_s: Annotated[
        Seconds, Field(description="seconds beyond grace and reaper until every slot has to be free")
    ] = 3.0


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
    machine_label: Annotated[
        str | None,
        Field(
            min_length=1,
            description="kind of machine; runs that have one are compared by it, not by CPU, cores, memory and GPUs",
        ),
    ] = None
    load: Load
    behaviours: Behaviours
    deadlines: Deadlines
    watch: Watch = Watch()
    memory: Memory = Memory()
    playback: Playback = Playback()
    slots: Slots = Slots()
    require: Require = Require()
    bus: Bus = Bus()
    metrics: Metrics = Metrics()
    schema_version: Literal[1] = 1

    @model_validator(mode="after")
    def _can_be_interrupted(self) -> Self:
        if self.slots.every_s is None:
            return self
        if not self.slots.probe:
            raise ValueError("`slots.every_s` has no meaning without `slots.probe`")
        if not isinstance(self.load.arrivals, Closed) or self.load.ramp != Ramp():
            raise ValueError("`slots.every_s` needs closed arrivals without a ramp: the load stops for each probe")
        return self

    @property
    def rounds_s(self) -> tuple[float, ...]:
        """Length in seconds of each part of the load; after each the slots are probed, where that is wanted."""
        whole_s, every_s = self.load.duration_s, self.slots.every_s
        count = 1 if every_s is None else max(1, round(whole_s / every_s))
        return (whole_s / count,) * count
