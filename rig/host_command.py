"""The command line of a run whose server or workers are elsewhere: `rig host`, and options of `rig run`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rig.arguments import count, port
from rig.errors import UsageError, reason

if TYPE_CHECKING:
    from rig.elsewhere import Elsewhere


def add_elsewhere_options(run: argparse.ArgumentParser) -> None:
    """Options of `rig run`."""
    elsewhere = run.add_argument_group("elsewhere", "parts of the run in other containers or on other machines")
    elsewhere.add_argument("--server-host", metavar="NAME:PORT", help="`rig host` that runs the server")
    elsewhere.add_argument("--token-file", type=Path, metavar="FILE", help="secret that the host asks for")
    elsewhere.add_argument("--workers", type=count, metavar="N", help="Locust workers that connect by themselves")
    elsewhere.add_argument("--bus-url", metavar="URL", help="broker, mqtt(s)://host:port, in place of the run file's")
    elsewhere.add_argument("--bus-user", metavar="USER", help="user name at the broker")
    elsewhere.add_argument("--bus-password-env", metavar="NAME", help="environment variable with the broker's password")


def add_host_command(commands: "argparse._SubParsersAction[Any]") -> None:
    """`rig host`."""
    host = commands.add_parser(
        "host",
        help="run and watch a server for a rig elsewhere",
        example="rig host --token-file token --listen 127.0.0.1:8098",
    )
    host.add_argument("--listen", default="127.0.0.1:8098", metavar="NAME:PORT", help="where the rig finds this host")
    host.add_argument("--serve-on", default="127.0.0.1", metavar="ADDRESS", help="address that servers listen on")
    host.add_argument(
        "--results", type=Path, default=Path("results"), help="the rig's results folder, or one of its own"
    )
    host.add_argument("--serve-port", type=port, default=0, metavar="PORT", help="port of servers, else their file's")
    host.add_argument("--token-file", type=Path, required=True, metavar="FILE", help="secret that the rig has to know")
    host.set_defaults(command=_host)


def elsewhere_of(arguments: argparse.Namespace) -> "Elsewhere":
    """What the options of `rig run` say. Raises UsageError."""
    from rig.elsewhere import Elsewhere, read_token
    from rig.pipeline.remote import parse_host

    workers = arguments.workers or 0
    if arguments.server_host is None:
        return Elsewhere(workers=workers)
    if arguments.token_file is None:
        raise UsageError("--server-host needs --token-file: the secret that the host asks for")
    return Elsewhere(parse_host(arguments.server_host), read_token(arguments.token_file), workers)


def _host(arguments: argparse.Namespace) -> int:
    import asyncio

    from rig.elsewhere import read_token
    from rig.pipeline.host import Host
    from rig.pipeline.remote import parse_host

    listen, token = parse_host(arguments.listen, listen=True), read_token(arguments.token_file)
    host = Host(arguments.results, token, arguments.serve_on, arguments.serve_port)
    try:
        asyncio.run(host.serve(listen.name, listen.port))
    except OSError as error:
        raise UsageError(f"cannot listen on {listen}: {reason(error)}") from error
    return 0
