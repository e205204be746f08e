"""Every module has a test file at the place that mirrors its own, or a reason why another file stands for it."""

from pathlib import Path

from tests.house.tree import ROOT

STAND_INS = {
    # one row of a table each, and one test a row
    "rig/golden/faults/": "tests/golden/test_faults.py",
    "rig/engine/repro/": "tests/engine/repro/test_catalogue.py",
    # patches that a test must see at work in the schedulers they mend: there
    "rig/engine/patches/books.py": "tests/engine/patches/test_scheduler_zombies.py",
    "rig/engine/patches/scheduler_guard_only.py": "tests/engine/patches/test_registry.py",
    "rig/engine/patches/kv_finished_for_freed_request.py": "tests/engine/patches/test_registry.py",
    "rig/engine/patches/mooncake_store_unfinished.py": "tests/engine/repro/test_catalogue.py",
    "rig/engine/patches/update_from_output_missing_row.py": "tests/engine/repro/test_catalogue.py",
    # bugs whose tests share one bench: the connector's sender, or the session manager
    "rig/engine/bugs/leftovers.py": "tests/engine/bugs/test_zombie_in_running.py",
    "rig/engine/bugs/sender_state_leaked_on_abort.py": "tests/engine/bugs/test_senders.py",
    "rig/engine/bugs/shm_chunk_leaked_on_abort.py": "tests/engine/bugs/test_senders.py",
    "rig/engine/bugs/terminal_chunk_never_sent.py": "tests/engine/bugs/test_senders.py",
    "rig/engine/bugs/late_append_revives_session.py": "tests/engine/bugs/test_sessions.py",
    "rig/engine/bugs/open_cancelled_leaks_slot.py": "tests/engine/bugs/test_sessions.py",
    # what vLLM loads: seen at work when vLLM has loaded it
    "rig/engine/platform/": "tests/engine/platform/test_activation.py",
    "rig/engine/checkpoint/config.py": "tests/engine/checkpoint/test_writer.py",
    "rig/engine/checkpoint/tokens.py": "tests/engine/test_checkpoint.py",
    "rig/engine/checkpoint/remote/": "tests/engine/test_checkpoint.py",
    # what wires the others: seen at work in a whole run, or in a whole Locust
    "rig/run.py": "tests/golden/test_runs.py",
    "rig/ab_command.py": "tests/test_ab.py",
    "rig/host_command.py": "tests/test_elsewhere.py",
    "rig/pipeline/host.py": "tests/pipeline/test_remote.py",
    "rig/results.py": "tests/report/gate/test_baseline.py",
    "rig/bus/broker.py": "tests/bus/test_embedded.py",
    "rig/golden/live.py": "tests/golden/test_server.py",
    "clients/counter.py": "tests/clients/test_users.py",
    "clients/desk.py": "tests/clients/test_users.py",
    "clients/locustfile.py": "tests/clients/test_users.py",
    "clients/line.py": "tests/clients/test_caller.py",
    # vocabulary without behaviour: written, read and refused where it is used
    "rig/events/base.py": "tests/events/test_types.py",
    "rig/events/bus.py": "tests/events/test_types.py",
    "rig/events/pipeline.py": "tests/events/test_types.py",
    "rig/metrics/common.py": "tests/metrics/test_facts.py",
    "rig/config/base.py": "tests/config/test_load.py",
    "rig/config/arrivals.py": "tests/config/test_run.py",
    "rig/config/pipeline.py": "tests/config/test_shipped.py",
    "rig/scripts.py": "tests/test_plan.py",
    "rig/golden/wire.py": "tests/golden/test_server.py",
    # parts of what is written in one go
    "rig/report/markdown.py": "tests/report/test_write.py",
}
"""A module, or a folder of them, and the file whose tests would fail if it were broken."""


def own_test(module: str) -> str:
    """Where a module's own test file would be."""
    folder, _, name = module.removeprefix("rig/").rpartition("/")
    return f"tests/{folder}/test_{name}" if folder else f"tests/test_{name}"


def stand_in(module: str) -> str | None:
    """The entry that covers a module without a test file of its own."""
    folders = [f"{parent}/" for parent in Path(module).parents]
    return next((entry for entry in (module, *folders) if entry in STAND_INS), None)


def modules(root: Path) -> list[str]:
    found = [path for package in ("rig", "clients") for path in sorted((root / package).rglob("*.py"))]
    return [str(path.relative_to(root)) for path in found if path.name != "__init__.py"]


def complaints(root: Path) -> list[str]:
    """One line for each module without tests, and for each entry that nothing needs."""
    found, used = [], set()
    for module in modules(root):
        if (root / own_test(module)).is_file():
            continue
        entry = stand_in(module)
        if entry is None:
            found.append(f"{module} has no {own_test(module)}")
        else:
            used.add(entry)
    found += [f"{entry} needs no stand-in" for entry in STAND_INS if entry not in used]
    return found + [f"{STAND_INS[entry]} is not there" for entry in used if not (root / STAND_INS[entry]).is_file()]


def test_every_module_has_a_test_file() -> None:
    assert complaints(ROOT) == []


def test_a_module_without_one_is_named(tmp_path: Path) -> None:
    for name in ("rig/bus/novelty.py", "clients/novelty.py", "rig/novelty.py", "tests/test_novelty.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [text for text in complaints(tmp_path) if "novelty" in text] == [
        "rig/bus/novelty.py has no tests/bus/test_novelty.py",
        "clients/novelty.py has no tests/clients/test_novelty.py",
    ]


def test_a_stand_in_that_is_needed_no_more_is_named(tmp_path: Path) -> None:
    for name in ("rig/scripts.py", "tests/test_scripts.py", "rig/golden/faults/die.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = complaints(tmp_path)
    assert "rig/scripts.py needs no stand-in" in found
    assert "tests/golden/test_faults.py is not there" in found
