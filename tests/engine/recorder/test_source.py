"""The recorder knows the schedulers it was written for, and no other."""

import pytest

pytest.importorskip("vllm")

from rig.engine.recorder import source
from rig.engine.recorder.source import ADAPTER_METHODS, CONNECTOR_METHODS, SCHEDULER_METHODS, misfits
from rig.engine.repro.bench import Kind, _class_of

pytestmark = pytest.mark.timeout(300)  # the first one imports vLLM


@pytest.mark.parametrize("kind", list(Kind))
def test_the_released_schedulers_fit(kind: Kind) -> None:
    assert misfits(_class_of(kind), SCHEDULER_METHODS) == []  # type: ignore[arg-type]


def test_the_released_chunk_transfer_adapter_fits() -> None:
    from vllm_omni.distributed.omni_connectors.transfer_adapter.chunk_transfer_adapter import OmniChunkTransferAdapter

    assert misfits(OmniChunkTransferAdapter, ADAPTER_METHODS) == []


def test_the_released_connector_fits() -> None:
    from vllm_omni.distributed.omni_connectors.connectors.shm_connector import SharedMemoryConnector

    assert misfits(SharedMemoryConnector, CONNECTOR_METHODS) == []


def test_a_scheduler_of_somebody_elses_does_not_fit() -> None:
    from vllm.v1.core.sched.scheduler import Scheduler

    other = type("Other", (Scheduler,), {"schedule": lambda self: None})
    (problem,) = misfits(other, SCHEDULER_METHODS)
    assert "Other.schedule is not known" in problem


def test_a_changed_source_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    from vllm.v1.core.sched.scheduler import Scheduler

    known = source.KNOWN["vllm.v1.core.sched.scheduler"]
    monkeypatch.setitem(known, "Scheduler.add_request", "0" * 32)
    (problem,) = misfits(Scheduler, SCHEDULER_METHODS)
    assert "Scheduler.add_request is another source" in problem


def test_a_method_that_is_gone_does_not_fit() -> None:
    assert misfits(object, ("schedule",)) == ["object has no schedule"]
