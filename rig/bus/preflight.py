"""Whether a broker that somebody else runs can be used, found before anything is started."""

import asyncio
import ssl
from pathlib import Path

import aiomqtt

from rig.bus.address import Address, parse
from rig.bus.collector import quiet_log
from rig.config.bus import Bus
from rig.config.load import line_of
from rig.errors import ConfigError, UsageError

LIMIT_S = 5.0
NOT_LET_IN = ("not authorized", "not authorised", "bad user name or password", "identifier rejected")


def address_of(bus: Bus, run_file: Path) -> Address:
    """The broker of a run file; a relative `ca_file` lies beside it. Raises ConfigError."""
    assert bus.url is not None
    ca_file = None if bus.ca_file is None else (run_file.parent / bus.ca_file).resolve()
    address = parse(bus.url, user=bus.user, password_env=bus.password_env, ca_file=ca_file, insecure=bus.insecure)
    for key, ask in (("bus.password_env", address.password), ("bus.ca_file", address.tls_context)):
        try:
            ask()
        except UsageError as error:
            problem, _, remedy = str(error).partition("; ")
            raise ConfigError(run_file, line_of(run_file, key), key, problem, remedy) from error
    return address


def check(address: Address, run_file: Path) -> None:
    """Connect once. Raises ConfigError that names the setting to look at."""
    try:
        asyncio.run(_connect(address))
    except (aiomqtt.MqttError, OSError, TimeoutError) as error:
        key, remedy = _blame(error, address)
        problem = f"no way in at {address.url}: {_text(error)}"
        raise ConfigError(run_file, line_of(run_file, key), key, problem, remedy) from error


async def _connect(address: Address) -> None:
    async with asyncio.timeout(LIMIT_S):
        async with aiomqtt.Client(
            address.host,
            address.port,
            username=address.user,
            password=address.password(),
            tls_context=address.tls_context(),
            tls_insecure=address.insecure if address.tls else None,
            timeout=LIMIT_S,
            logger=quiet_log,
        ):
            return


def _text(error: BaseException) -> str:
    text = str(error) or f"no answer within {LIMIT_S:g} s"
    return text.splitlines()[0].rstrip(".")


def _blame(error: BaseException, address: Address) -> tuple[str, str]:
    text = str(error).lower()
    if "certificate" in text or isinstance(error.__cause__, ssl.SSLCertVerificationError):
        return "bus.ca_file", "give the PEM file of the authority that signed the broker's certificate"
    if any(said in text for said in NOT_LET_IN):
        key = "bus.url" if address.user is None else "bus.user" if address.password_env is None else "bus.password_env"
        return key, "give `user` and `password_env` as the broker knows them"
    return "bus.url", "start the broker, correct the url, or leave out `bus` for the embedded one"
