"""Ports that nobody listens on."""

import socket


def free_port(host: str = "127.0.0.1") -> int:
    """A port nobody listens on now; the kernel does not hand it out again soon."""
    with socket.socket() as listener:
        listener.bind((host, 0))
        port: int = listener.getsockname()[1]
        return port
