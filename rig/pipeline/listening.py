"""Who listens on a port: without it, a stranger's server on the same port would be taken for the rig's own.

A listening socket is found in /proc/net/tcp and tcp6 by its port, its owner by the socket's inode among the open files
of processes. Standard library only.
"""

import ipaddress
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rig.errors import PipelineError
from rig.pipeline import tree

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

LISTEN = "0A"
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


@contextmanager
def reserved(host: str) -> Iterator[int]:
    """A free port that the kernel gives to nobody else who asks for any, for as long as the block lasts.

    The server itself may listen on it: like ours, it sets SO_REUSEADDR, and the socket here is bound but never listens.
    Raises OSError when there is none.
    """
    with socket.socket() as holder:
        # Bound first: a port that is asked for with SO_REUSEADDR may be one that another rig holds in the same way.
        holder.bind((host, 0))
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port: int = holder.getsockname()[1]
        yield port


def sockets(host: str, port: int) -> set[int]:
    """Inodes of the sockets of this machine (its network namespace) that a connection to host and port can reach."""
    wanted = _addresses(host)
    found = set()
    for table in TABLES:
        with suppress(FileNotFoundError), open(table, encoding="ascii") as lines:
            next(lines)
            for line in lines:
                fields = line.split()
                address, _, at = fields[1].rpartition(":")
                if fields[3] == LISTEN and int(at, 16) == port and _meets(_address(address), wanted):
                    found.add(int(fields[9]))
    return found


def _addresses(host: str) -> set[Address]:
    return {ipaddress.ip_address(str(entry[4][0])) for entry in socket.getaddrinfo(host, None)}


def _address(words: str) -> Address:
    """An address as /proc/net writes it: 32-bit words in the order of this machine's bytes."""
    raw = bytes.fromhex(words)
    if sys.byteorder == "little":
        raw = b"".join(raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    address = ipaddress.ip_address(raw)
    return getattr(address, "ipv4_mapped", None) or address


def _meets(address: Address, wanted: set[Address]) -> bool:
    return address.is_unspecified or address in wanted or any(one.is_unspecified for one in wanted)


def held_by(pid: int) -> set[int]:
    """Inodes of the sockets that a process holds; empty for a process that is gone or somebody else's."""
    found = set()
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                target = os.readlink(f"/proc/{pid}/fd/{name}")
                if target.startswith("socket:["):
                    found.add(int(target[len("socket:[") : -1]))
    return found


def check(host: str, port: int, server: tree.Process) -> None:
    """Raise PipelineError unless the server's own processes, and nobody else, listen at an address."""
    listening = sockets(host, port)
    processes = tree.table()
    own = held_by(server.pid)
    for process in tree.family(server, processes):
        own |= held_by(process.pid)
    if not listening:
        raise PipelineError(f"nobody listens on {host} port {port}")
    strangers = listening - own
    if strangers:
        share = "as well" if listening & own else "and the server that was started does not"
        raise PipelineError(f"{_owner(strangers, processes)} listens on {host} port {port}, {share}")


def _owner(inodes: set[int], processes: dict[int, tree.Process]) -> str:
    for pid in processes:
        if inodes & held_by(pid):
            return f"another process (pid {pid}: {tree.title(pid)[:80]})"
    return "somebody else's process"
