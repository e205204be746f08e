"""Whose server answers on a port is told from the kernel's tables, with real processes on both sides."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from rig.errors import PipelineError
from rig.pipeline import listening, tree
from tests.golden.child import child

HOST = "127.0.0.1"
LISTENER = """
import socket, sys
with socket.socket() as listener:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    listener.bind((sys.argv[1], int(sys.argv[2])))
    listener.listen()
    print(flush=True)
    sys.stdin.read()
"""
PARENT = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {LISTENER!r}, *sys.argv[1:]])
"""


@contextmanager
def process(port: int, host: str = HOST, code: str = LISTENER) -> Iterator[tree.Process]:
    """A process that listens as vLLM does: it lets others of the same user listen beside it."""
    command = [sys.executable, "-c", code, host, str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == b"\n"
        found = tree.read(started.pid)
        assert found is not None
        yield found
        assert started.stdin is not None
        started.stdin.close()


@pytest.fixture
def port() -> Iterator[int]:
    with listening.reserved(HOST) as port:
        yield port


def test_a_server_that_listens_alone_is_taken_for_itself(port: int) -> None:
    with process(port) as server:
        listening.check(HOST, port, server)


def test_a_child_of_the_server_may_be_the_one_that_listens(port: int) -> None:
    with process(port, code=PARENT) as server:
        listening.check(HOST, port, server)


def complaint(port: int, server: tree.Process) -> str:
    with pytest.raises(PipelineError) as error:
        listening.check(HOST, port, server)
    return str(error.value)


def test_a_stranger_in_place_of_the_server_is_named(port: int) -> None:
    with process(port) as stranger, listening.reserved(HOST) as other, process(other) as server:
        text = complaint(port, server)
    assert f"another process (pid {stranger.pid}: " in text
    assert text.endswith(f"listens on {HOST} port {port}, and the server that was started does not")


def test_a_stranger_beside_the_server_is_named_too_for_it_gets_half_of_the_calls(port: int) -> None:
    with process(port) as server, process(port) as stranger:
        text = complaint(port, server)
    assert f"another process (pid {stranger.pid}: " in text
    assert text.endswith(f"listens on {HOST} port {port}, as well")


def test_who_listens_on_all_addresses_is_found_and_who_listens_on_another_address_is_not(port: int) -> None:
    with process(port) as server:
        with process(port, "127.0.0.2"):
            listening.check(HOST, port, server)
        with process(port, "0.0.0.0"):
            assert complaint(port, server).endswith("as well")


def test_a_port_where_nobody_listens_is_no_servers(port: int) -> None:
    with listening.reserved(HOST) as other, process(other) as server:
        assert complaint(port, server) == f"nobody listens on {HOST} port {port}"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_listener_is_found_by_address_and_by_name(host: str) -> None:
    with socket.create_server((HOST, 0)) as listener:
        assert len(listening.sockets(host, listener.getsockname()[1])) == 1


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_a_listener_of_the_newer_protocol_is_found() -> None:
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6 address")
    with listener:
        assert len(listening.sockets("::1", listener.getsockname()[1])) == 1


def test_no_reserved_port_is_given_twice_and_no_other_program_gets_it() -> None:
    with ExitStack() as held, socket.socket() as other:
        ports = {held.enter_context(listening.reserved(HOST)) for _ in range(50)}
        assert len(ports) == 50
        with pytest.raises(OSError, match="in use"):
            other.bind((HOST, ports.pop()))


def test_the_server_itself_listens_on_the_port_that_is_held_for_it(tmp_path: Path, port: int) -> None:
    with child(tmp_path, port=port) as golden:
        assert golden.port == port
        server = tree.read(golden.process.pid)
        assert server is not None
        listening.check(HOST, port, server)
