"""The patches fit the installed engine; they go on together or not at all."""

from pathlib import Path

import pytest

import rig.engine.bugs
import rig.engine.patches
from rig.config.pipeline import EngineBug, EnginePatch
from rig.engine.patches import registry
from rig.engine.patches.patch import Kind, PatchError, fingerprint, resolve

FOLDER = Path(rig.engine.patches.__file__).parent
HELPERS = {"__init__", "books", "patch", "plugin", "registry", "report", "telling", "wrapping"}
BUGS_FOLDER = Path(rig.engine.bugs.__file__).parent
BUG_HELPERS = {"__init__", "leftovers"}

MINE = """
from rig.engine.patches.patch import Bug, Change
from rig.engine.patches.wrapping import wrap


def apply():
    from vllm.v1.core.sched.scheduler import Scheduler

    def replaced(original):
        def schedule(self, *args, **kwargs):
            raise RuntimeError("mine")

        return schedule

    wrap(Scheduler, "schedule", replaced)


BUG = Bug(
    name="mine",
    summary="every step raises",
    explanation="For a test.",
    provoked_by="anything",
    upstream=("none",),
    versions={},
    changes=(Change("vllm.v1.core.sched.scheduler:Scheduler.schedule", "SHA256"),),
    apply=apply,
)
"""


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
        registry.put_on((), names)
        assert registry.applied() == tuple(names)
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
        registry.put_on((), ["scheduler_zombies", "kv_finished_for_freed_request"])
    assert Scheduler.schedule is before


def test_another_version_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vllm")
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.31.0")
    (problem, *_) = registry.check(registry.load("scheduler_guard_only")).problems
    assert "0.31.0, the patch is for 0.30.0" in problem


def test_every_file_is_a_bug_that_a_pipeline_can_name() -> None:
    assert {path.stem for path in BUGS_FOLDER.glob("*.py")} - BUG_HELPERS == {str(name) for name in EngineBug}
    assert not set(EngineBug) & set(EnginePatch)


def test_every_bug_says_what_it_must() -> None:
    for bug in registry.bugs():
        assert bug.name in list(EngineBug)
        assert bug.kind is Kind.BUG
        assert bug.upstream, bug.name
        assert bug.explanation, bug.name
        assert bug.provoked_by, bug.name
        assert bug.changes, bug.name
        assert all(len(change.sha256) == 64 for change in bug.changes), bug.name


def test_every_bug_fits_the_installed_engine() -> None:
    pytest.importorskip("vllm")
    assert [fit.problems for fit in map(registry.check, registry.bugs())] == [()] * len(EngineBug)


def test_all_bugs_go_on_and_come_off_together() -> None:
    pytest.importorskip("vllm")
    with registry.patched([], list(EngineBug)):
        assert registry.applied(Kind.BUG) == tuple(EngineBug)
        assert registry.applied() == ()
    assert registry.applied(Kind.BUG) == ()


SCHEDULE = "vllm.v1.core.sched.scheduler:Scheduler.schedule"


def mine(folder: Path, sha256: str) -> str:
    path = folder / "mine.py"
    path.write_text(MINE.replace("SHA256", sha256))
    return str(path)


def test_a_bug_can_be_a_file_and_a_patch_is_still_held_against_the_published_source(tmp_path: Path) -> None:
    pytest.importorskip("vllm")
    from vllm.v1.core.sched.scheduler import Scheduler

    file = mine(tmp_path, fingerprint(resolve(SCHEDULE)))
    with registry.patched(["scheduler_zombies"], [file]):
        assert registry.applied(Kind.BUG) == ("mine",)
        assert registry.applied() == ("scheduler_zombies",)
        wrapped = Scheduler.schedule.__wrapped__
        # The patch is the outer one: it is tried on top of the bug.
        assert "sweep" in Scheduler.schedule.__code__.co_names
        assert "sweep" not in wrapped.__code__.co_names


def test_a_bug_that_does_not_fit_keeps_all_off(tmp_path: Path) -> None:
    pytest.importorskip("vllm")
    from vllm.v1.core.sched.scheduler import Scheduler

    before = Scheduler.schedule
    with pytest.raises(PatchError, match=r"mine does not fit .* the bug is for 000000000000"):
        registry.put_on([mine(tmp_path, "0" * 64)], ["scheduler_zombies"])
    assert Scheduler.schedule is before
    assert registry.applied() == registry.applied(Kind.BUG) == ()


def test_a_bug_does_not_go_on_after_a_patch() -> None:
    pytest.importorskip("vllm")
    with registry.patched(["scheduler_zombies"]), pytest.raises(PatchError, match="cannot go on after a patch"):
        registry.put_on(["zombie_in_running"], [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [(None, "there is no file"), ("x = 1", r"has no BUG = Bug\("), ("import no_such_module", "cannot be loaded")],
)
def test_a_file_that_holds_no_bug_is_told(tmp_path: Path, text: str | None, problem: str) -> None:
    path = tmp_path / "broken.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(PatchError, match=problem):
        registry.load_bug(str(path))


def test_a_misspelt_name_is_told_with_the_nearest_one() -> None:
    with pytest.raises(PatchError, match=r"no bug 'zombie', and it is no \.py file; did you mean `zombie_in_running`"):
        registry.load_bug("zombie")
    with pytest.raises(PatchError, match="no patch 'scheduler_zombie'; did you mean `scheduler_zombies`"):
        registry.load("scheduler_zombie")
