"""All watchers together: what a healthy server leaves in the journal, and what a sick one does."""

import os
import signal
from pathlib import Path

import pytest

from rig.events.types import HealthProbed, LogSignature, MemorySampled, ProcessDied
from rig.pipeline import tree
from rig.pipeline.local import WARDEN_KILLED, WARDEN_TERMINATED, LocalPipeline
from rig.watch.server import ServerWatch
from tests.pipeline import fake
from tests.watch.watched import LABELS, of, recorded, run


def test_a_healthy_server_is_healthy_uses_memory_and_logs_no_fault(tmp_path: Path) -> None:
    async def watch_a_while(pipeline: LocalPipeline, watch: ServerWatch) -> None:
        await recorded(tmp_path, HealthProbed, lambda found: len(found) >= 3)
        await recorded(tmp_path, MemorySampled, lambda found: {event.stage for event in found} >= LABELS)

    events = run(tmp_path, watch_a_while)
    assert {event.status for event in of(events, HealthProbed)[:3]} == {200}
    assert all(event.rss_bytes > 0 for event in of(events, MemorySampled))
    assert of(events, LogSignature) == []


def test_a_frozen_server_does_not_stop_the_other_watchers(tmp_path: Path) -> None:
    async def freeze(pipeline: LocalPipeline, watch: ServerWatch) -> None:
        os.kill(pipeline.server.pid, signal.SIGSTOP)
        before = len(of(fake.events(tmp_path), MemorySampled))
        await recorded(tmp_path, MemorySampled, lambda found: len(found) > before + len(LABELS))
        os.kill(pipeline.server.pid, signal.SIGCONT)

    assert of(run(tmp_path, freeze), MemorySampled)


def test_a_fault_in_the_log_is_recorded_with_the_stage_that_wrote_it(tmp_path: Path) -> None:
    async def provoke(pipeline: LocalPipeline, watch: ServerWatch) -> None:
        os.kill(fake.by_title(pipeline.server, "VLLM::StageEngineCoreProc_stage1").pid, signal.SIGUSR2)
        await recorded(tmp_path, LogSignature, lambda found: len(found) == 1)

    (event,) = of(run(tmp_path, provoke), LogSignature)
    assert (event.signature, event.stage, event.expected) == ("engine_dead_error", "talker", False)
    assert event.line == "EngineDeadError: the engine is dead"


@pytest.mark.parametrize(("signum", "why"), [(signal.SIGKILL, WARDEN_KILLED), (signal.SIGTERM, WARDEN_TERMINATED)])
def test_a_server_that_ends_with_its_warden_did_not_die_by_itself(
    tmp_path: Path, signum: signal.Signals, why: str
) -> None:
    async def act(pipeline: LocalPipeline, watch: ServerWatch) -> None:
        server = tree.read(pipeline.server.pid)
        assert server is not None
        os.kill(server.ppid, signum)
        assert await watch.lost() == why
        await recorded(tmp_path, ProcessDied, lambda died: "api_server" in {event.stage for event in died})

    events = run(tmp_path, act)
    deaths = of(events, ProcessDied)
    assert {death.stage for death in deaths} >= LABELS
    assert all(death.expected for death in deaths)
