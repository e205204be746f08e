"""What is put around a method comes off again, in the right order."""

import pytest

from rig.engine.patches.wrapping import Method, add, undone, wrap


class Base:
    def inherited(self) -> str:
        return "base"


class Engine(Base):
    def step(self) -> str:
        return "step"


def around(mark: str) -> Method:
    def wrapper(original: Method) -> Method:
        return lambda self: f"{mark}({original(self)})"

    return wrapper


def test_wrappers_nest_and_come_off() -> None:
    original = vars(Engine)["step"]
    with undone():
        wrap(Engine, "step", around("a"))
        wrap(Engine, "step", around("b"))
        assert Engine().step() == "b(a(step))"
        assert Engine.step.__name__ == "step"
    assert vars(Engine)["step"] is original


def test_what_is_added_comes_off_too() -> None:
    def inherited(self: Engine) -> str:
        return "own"

    with undone():
        add(Engine, "inherited", inherited)
        assert Engine().inherited() == "own"
    assert Engine().inherited() == "base"


def fail_inside() -> None:
    with undone():
        wrap(Engine, "step", around("a"))
        raise ZeroDivisionError


def test_an_exception_in_the_block_takes_them_off() -> None:
    with pytest.raises(ZeroDivisionError):
        fail_inside()
    assert Engine().step() == "step"


def test_a_method_of_its_own_is_not_added_over() -> None:
    with pytest.raises(AssertionError, match="wrap it"):
        add(Engine, "step", lambda self: "")
