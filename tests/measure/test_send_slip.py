"""Send slip counts every frame; one that left early was on time."""

from pathlib import Path
from typing import Any

from rig.events.types import FramesSent
from rig.fold import result_of
from rig.measure.send_slip import SendSlip
from tests.builders import Run, ns
from tests.measure.values import about, values


def test_every_frame_has_a_value(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call()
    fields: dict[str, Any] = {"first_planned_ns": ns(3.0), "interval_ns": 100_000_000}
    run.call(3.3, FramesSent, **fields, slips_us=[1_000, -500, 2_000])
    run.call(4.3, FramesSent, **fields, slips_us=[30_000])
    assert values(result_of(SendSlip, run.history())) == about(0.0, 1.0, 2.0, 30.0)
