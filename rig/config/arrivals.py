"""When calls begin: after each other (closed loop), or at times that no server can put off (open loop)."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from rig.config.base import StrictModel

Rate = Annotated[float, Field(gt=0, le=10_000, description="calls per second")]


class Closed(StrictModel):
    """Each caller begins its next call a pause after its last one: a slow server is called less."""

    kind: Literal["closed"] = "closed"


class Constant(StrictModel):
    """One call every `1 / rate` seconds."""

    kind: Literal["constant"]
    rate: Rate


class Poisson(StrictModel):
    """Calls of many independent callers: exponential gaps with a mean of `1 / rate` seconds."""

    kind: Literal["poisson"]
    rate: Rate


class Gamma(StrictModel):
    """Gaps from a gamma distribution with the mean `1 / rate`, as in `vllm bench serve --burstiness`."""

    kind: Literal["gamma"]
    rate: Rate
    burstiness: Annotated[
        float, Field(gt=0, le=1_000, description="shape of the gaps: 1 is Poisson, less is burstier, more is steadier")
    ]


class Replay(StrictModel):
    """The calls of a plan that another run left."""

    kind: Literal["replay"]
    plan: Annotated[Path, Field(description="plan file (plan.jsonl of a run folder), relative to this file")]
    sha256: Annotated[
        str | None,
        Field(pattern="^[0-9a-f]{64}$", description="hash that the plan file must have, checked where given"),
    ] = None


Arrivals = Annotated[Closed | Constant | Poisson | Gamma | Replay, Field(discriminator="kind")]
AtRate = Constant | Poisson | Gamma


class Ramp(StrictModel):
    """Linear growth from nothing, and the way back: of the callers (closed loop) or of the rate (open loop)."""

    up_s: Annotated[float, Field(ge=0, le=7 * 86_400, description="seconds from the first caller to all of them")] = 0
    down_s: Annotated[float, Field(ge=0, le=7 * 86_400, description="seconds from all callers to none, at the end")] = 0
