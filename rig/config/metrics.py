"""The `metrics` section of a run file: where Prometheus finds the rig while a run goes on."""

from typing import Annotated

from pydantic import Field

from rig.config.base import StrictModel

DEFAULT_PORT = 9646


class Metrics(StrictModel):
    """Off unless it is switched on: a run opens no port that nobody asked for."""

    enabled: Annotated[bool, Field(description="serve /metrics while the run goes on")] = False
    host: Annotated[str, Field(min_length=1, description="address to listen on")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535, description="port to listen on; 0 takes a free one")] = DEFAULT_PORT
    linger_s: Annotated[
        float, Field(ge=0, le=3_600, description="seconds to go on serving after the verdict, so that it is scraped")
    ] = 0.0
