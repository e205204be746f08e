"""A patch is held to the source it was written for."""

import functools
import sys
from types import FunctionType, ModuleType

import pytest

from rig.engine.patches.patch import Change, Patch, PatchError, fingerprint, misfit, resolve

HERE = sys.modules[__name__]
ABSENT = "no_such_package_at_all.module:Class.method"


class Engine:
    def step(self) -> int:
        return 1

    @property
    def size(self) -> int:
        return 0


class Derived(Engine):
    pass


class Wrapped:
    step = functools.wraps(Engine.step)(lambda self: 2)


STEP = vars(Engine)["step"]


def target(path: str) -> str:
    return f"{__name__}:{path}"


def test_the_function_it_was_written_for_fits() -> None:
    assert misfit(Change(target("Engine.step"), fingerprint(STEP))) is None


def test_another_source_is_told_with_both_fingerprints() -> None:
    problem = misfit(Change(target("Engine.step"), "0" * 64))
    assert problem is not None
    assert "Engine.step is another source" in problem
    assert fingerprint(STEP)[:12] in problem


def test_a_package_that_is_not_installed_at_all_does_not_count() -> None:
    assert misfit(Change(ABSENT, "0" * 64)) is None


@pytest.mark.parametrize("path", ["Engine.gone", "Gone.step", "Derived.step", "Engine.size"])
def test_what_is_not_a_function_of_that_very_class_is_told(path: str) -> None:
    problem = misfit(Change(target(path), "0" * 64))
    assert problem is not None
    assert path in problem
    with pytest.raises(PatchError):
        resolve(target(path))


def test_a_wrapper_has_the_fingerprint_of_what_it_wraps() -> None:
    wrapped = vars(Wrapped)["step"]
    assert isinstance(wrapped, FunctionType)
    assert fingerprint(wrapped) == fingerprint(STEP)


def made(source: str, name: str) -> FunctionType:
    """A function whose source `inspect` can find."""
    import linecache

    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    module = ModuleType(name)
    exec(compile(source, name, "exec"), vars(module))  # noqa: S102
    found = vars(module)["step"]
    assert isinstance(found, FunctionType)
    return found


def test_spaces_at_line_ends_do_not_change_a_fingerprint_and_code_does() -> None:
    plain = fingerprint(made("def step():\n    return 1\n", "<plain>"))
    assert fingerprint(made("def step():   \n    return 1\n\n\n", "<spaces>")) == plain
    assert fingerprint(made("def step():\n    return 2\n", "<other>")) != plain


def test_a_patch_tells_all_its_misfits() -> None:
    patch = Patch(
        "x", "", "", (), {}, (Change(target("Engine.gone"), ""), Change(target("Gone.step"), "")), lambda: None
    )
    assert len(patch.misfits()) == 2
