"""Where the broker is and how to get in. The password stays in the environment: only the variable's name travels."""

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from rig.errors import UsageError

PORTS = {"mqtt": 1883, "mqtts": 8883}


@dataclass(frozen=True)
class Address:
    """One broker. `password_env` names the environment variable that holds the password."""

    host: str
    port: int
    tls: bool = False
    user: str | None = None
    password_env: str | None = None
    ca_file: Path | None = None
    insecure: bool = False

    @property
    def url(self) -> str:
        """The address without user and password."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.tls else 'mqtt'}://{host}:{self.port}"

    def password(self) -> str | None:
        """The password, read now. Raises UsageError when the variable is not set."""
        if self.password_env is None:
            return None
        found = os.environ.get(self.password_env)
        if found is None:
            raise UsageError(f"the environment variable {self.password_env} is not set; it holds the broker's password")
        return found

    def tls_context(self) -> ssl.SSLContext | None:
        """How to check the broker's certificate; None without TLS. Raises UsageError for an unusable `ca_file`."""
        if not self.tls:
            return None
        try:
            context = ssl.create_default_context(cafile=None if self.ca_file is None else str(self.ca_file))
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"{self.ca_file} holds no certificates ({error}); give a PEM file") from error
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def parse(
    url: str,
    *,
    user: str | None = None,
    password_env: str | None = None,
    ca_file: Path | None = None,
    insecure: bool = False,
) -> Address:
    """Read mqtt://host:port or mqtts://host:port. Raises UsageError."""
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in PORTS or not parts.hostname or port == -1 or parts.path not in ("", "/"):
        raise UsageError(f"{url!r} is not a broker; give mqtt://host:port or mqtts://host:port")
    if parts.username is not None or parts.password is not None:
        raise UsageError("the broker's URL holds a user or a password; give `user` and `password_env` instead")
    tls = parts.scheme == "mqtts"
    return Address(parts.hostname, port or PORTS[parts.scheme], tls, user, password_env, ca_file, insecure)


def as_environment(address: Address) -> dict[str, str]:
    """What tells another process of the rig where the bus is; the password stays in its own variable."""
    found = {
        "RIG_BUS_URL": address.url,
        "RIG_BUS_USER": address.user,
        "RIG_BUS_PASSWORD_ENV": address.password_env,
        "RIG_BUS_CA_FILE": None if address.ca_file is None else str(address.ca_file),
        "RIG_BUS_INSECURE": "1" if address.insecure else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def of_environment(told: Mapping[str, str]) -> Address | None:
    """The broker that `as_environment` told of; None without one. Raises UsageError."""
    url = told.get("RIG_BUS_URL")
    if url is None:
        return None
    ca_file = told.get("RIG_BUS_CA_FILE")
    return parse(
        url,
        user=told.get("RIG_BUS_USER"),
        password_env=told.get("RIG_BUS_PASSWORD_ENV"),
        ca_file=None if ca_file is None else Path(ca_file),
        insecure=told.get("RIG_BUS_INSECURE") == "1",
    )
