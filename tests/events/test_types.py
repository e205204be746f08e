"""Events are frozen, strict and survive the trip through JSON."""

import enum
from typing import Any, get_args

import msgspec
import pytest

from rig.events import types as ev

EVENTS: tuple[type[ev.Event], ...] = get_args(ev.AnyEvent)


def sample(kind: type[ev.Event]) -> ev.Event:
    """An event with some value of the right type in every field."""
    values: dict[str, Any] = {field.name: _value(field.type) for field in msgspec.structs.fields(kind)}
    return kind(**values)


def _value(annotation: object) -> object:
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return next(iter(annotation.__members__.values()))
    parts = get_args(annotation)
    if type(None) in parts:
        return None
    if annotation is int or annotation is bool:
        return annotation(1)
    if annotation is str:
        return "x"
    return [_value(parts[0])] if parts and getattr(annotation, "__origin__", None) is list else _nested(annotation)


def _nested(annotation: object) -> object:
    if annotation is ev.MarkRun:
        return ev.MarkRun(1, 2, 3, 4)
    assert annotation == ev.SlipUs, f"no sample for {annotation}"
    return 1


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_comes_back_from_json_as_it_was(kind: type[ev.Event]) -> None:
    event = sample(kind)
    assert msgspec.json.decode(msgspec.json.encode(event), type=ev.AnyEvent) == event


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_refuses_a_field_that_it_does_not_have(kind: type[ev.Event]) -> None:
    line = msgspec.json.encode(sample(kind))
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.json.decode(line[:-1] + b',"extra":1}', type=ev.AnyEvent)


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_event_is_frozen(kind: type[ev.Event]) -> None:
    with pytest.raises(AttributeError):
        sample(kind).t_ns = 0  # type: ignore[misc]


def test_every_event_class_can_be_read_back() -> None:
    def concrete(kind: type[ev.Event]) -> set[type[ev.Event]]:
        below = kind.__subclasses__()
        own = {kind} if msgspec.structs.fields(kind) and kind.__struct_config__.tag != kind.__name__ else set()
        return own.union(*(concrete(child) for child in below))

    assert concrete(ev.Event) == set(EVENTS)


def test_no_two_events_share_a_tag() -> None:
    tags = [kind.__struct_config__.tag for kind in EVENTS]
    assert len(set(tags)) == len(tags)
