"""What an argument of the command line may be, as a `type` of argparse."""

import argparse

MAX_PORT = 65_535


def above_zero(text: str) -> float:
    """A finite number above 0."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no number above 0")
    return value


def count(text: str) -> int:
    """A whole number from 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return value


def port(text: str) -> int:
    """A port that somebody else is told."""
    return _port(text, 1)


def port_or_free(text: str) -> int:
    """A port to listen on; 0 takes a free one."""
    return _port(text, 0)


def _port(text: str, lowest: int) -> int:
    value = int(text)
    if not lowest <= value <= MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text} is no port; give one from {lowest} to {MAX_PORT}")
    return value
