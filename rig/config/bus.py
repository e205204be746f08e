"""The `bus` section of a run file: how events travel from their producers to the rig."""

import enum
import re
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from rig.config.base import StrictModel

_URL = re.compile(r"mqtts?://([^\s/@:\[\]]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?")


class BusKind(enum.StrEnum):
    """Who runs the broker."""

    EMBEDDED = "embedded"
    EXTERNAL = "external"
    NONE = "none"


class Bus(StrictModel):
    """Without anything the rig runs a broker of its own on 127.0.0.1; with a `url` it uses that broker."""

    kind: Annotated[
        BusKind | None, Field(description="embedded, external or none; left out, a `url` makes it external")
    ] = None
    url: Annotated[str | None, Field(description="broker: mqtt://host:port, or mqtts://host:port for TLS")] = None
    user: Annotated[str | None, Field(min_length=1, description="user name at the broker")] = None
    password_env: Annotated[
        str | None, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="environment variable with the password")
    ] = None
    ca_file: Annotated[
        Path | None, Field(description="PEM file with the authority of the broker's certificate, beside this file")
    ] = None
    insecure: Annotated[bool, Field(description="take any certificate: for trials only")] = False

    @property
    def chosen(self) -> BusKind:
        """The kind, also where the file leaves it open."""
        if self.kind is not None:
            return self.kind
        return BusKind.EMBEDDED if self.url is None else BusKind.EXTERNAL

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.url is None:
            given = [name for name in ("user", "password_env", "ca_file", "insecure") if getattr(self, name)]
            if given:
                raise ValueError(f"{given[0]} needs a `url`")
            if self.kind is BusKind.EXTERNAL:
                raise ValueError("kind external needs a `url`")
            return self
        if self.chosen is not BusKind.EXTERNAL:
            raise ValueError(f"kind {self.chosen} takes no `url`")
        if "@" in self.url:
            raise ValueError("the url holds a user or a password; give `user` and `password_env` instead")
        if _URL.fullmatch(self.url) is None:
            raise ValueError(f"{self.url!r} is no broker; give mqtt://host:port or mqtts://host:port")
        if (self.ca_file is not None or self.insecure) and not self.url.startswith("mqtts:"):
            raise ValueError("ca_file and insecure need an mqtts:// url")
        if self.password_env is not None and self.user is None:
            raise ValueError("password_env needs a `user`")
        return self
