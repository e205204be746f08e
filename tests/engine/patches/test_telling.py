"""Every case is counted; the log hears of at most one in ten seconds."""

import logging

import pytest

from rig.engine.patches.telling import EVERY_S, Teller


def test_cases_are_counted_and_lines_are_rare(caplog: pytest.LogCaptureFixture) -> None:
    now = [100.0]
    teller = Teller("some_patch", clock=lambda: now[0])
    with caplog.at_level(logging.WARNING, logger="vllm.rig.patches"):
        log = logging.getLogger("vllm.rig.patches")
        log.addHandler(caplog.handler)
        try:
            for case in range(5):
                teller.tell(f"case {case}")
            now[0] += EVERY_S
            teller.tell("last")
        finally:
            log.removeHandler(caplog.handler)
    lines = list(dict.fromkeys(record.getMessage() for record in caplog.records))
    assert teller.count == 6
    assert lines == ["rig patch some_patch: case 0 (case 1)", "rig patch some_patch: last (case 6, 4 not shown)"]
