"""Putting a function around an engine's own, and taking it off again."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

Method = Callable[..., Any]
"""A method of the engine: its types are the engine's, which are not looked into."""

_MISSING = object()
_undo: list[tuple[type, str, object]] = []


def wrap(owner: type, name: str, around: Callable[[Method], Method]) -> None:
    """Replace the method that `owner` itself defines by `around(method)`, which should call it."""
    original = vars(owner)[name]
    _set(owner, name, functools.wraps(original)(around(original)))


def add(owner: type, name: str, method: Method) -> None:
    """Give `owner` a method that it only inherits so far."""
    assert name not in vars(owner), f"{owner.__name__} has its own {name}: wrap it"
    assert isinstance(method, FunctionType)
    _set(owner, name, method)


@contextmanager
def undone() -> Iterator[None]:
    """Take off at the end what is put on in the block."""
    before = len(_undo)
    try:
        yield
    finally:
        while len(_undo) > before:
            owner, name, old = _undo.pop()
            if old is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, old)


def _set(owner: type, name: str, method: Method) -> None:
    _undo.append((owner, name, vars(owner).get(name, _MISSING)))
    setattr(owner, name, method)
