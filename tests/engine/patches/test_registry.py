"""The patches fit the installed engine; they go on together or not at all."""

from pathlib import Path

import pytest

import rig.engine.patches
from rig.config.pipeline import EnginePatch
from rig.engine.patches import registry
from rig.engine.patches.patch import PatchError

FOLDER = Path(rig.engine.patches.__file__).parent
HELPERS = {"__init__", "books", "patch", "plugin", "registry", "report", "telling", "wrapping"}


def test_every_file_is_a_patch_that_a_pipeline_can_name() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} - HELPERS == {str(name) for name in EnginePatch}


def test_every_patch_says_what_it_must() -> None:
    for patch in registry.patches():
        assert patch.name in list(EnginePatch)
        assert patch.upstream, patch.name
        assert patch.explanation, patch.name
        assert all(len(change.sha256) == 64 for change in patch.changes), patch.name
        assert set(patch.excludes) <= {str(name) for name in EnginePatch}, patch.name


def test_every_patch_fits_the_installed_engine() -> None:
    pytest.importorskip("vllm")
    assert [fit.problems for fit in map(registry.check, registry.patches())] == [()] * len(EnginePatch)


def test_all_that_can_be_together_go_on_and_come_off() -> None:
    pytest.importorskip("vllm")
    from vllm.v1.core.sched.scheduler import Scheduler

    before = Scheduler.schedule
    names = [name for name in EnginePatch if name is not EnginePatch.SCHEDULER_GUARD_ONLY]
    with registry.patched(names):
        assert registry.applied() == tuple(names)
        assert Scheduler.schedule is not before
        assert registry.apply_patches(names) == tuple(names)
    assert registry.applied() == ()
    assert Scheduler.schedule is before


def test_one_that_does_not_fit_keeps_all_off(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vllm")
    from vllm.v1.core.sched.scheduler import Scheduler

    def other(self: object) -> None:
        """Not what the patch was written for."""

    monkeypatch.setattr(Scheduler, "_update_from_kv_xfer_finished", other)
    before = Scheduler.schedule
    with pytest.raises(PatchError, match="_update_from_kv_xfer_finished is another source"):
        registry.apply_patches(["scheduler_zombies", "kv_finished_for_freed_request"])
    assert Scheduler.schedule is before


def test_another_version_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vllm")
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.31.0")
    (problem, *_) = registry.check(registry.load("scheduler_guard_only")).problems
    assert "0.31.0, the patch is for 0.30.0" in problem
