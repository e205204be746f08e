"""Slots: after the load every slot must take and answer a caller, all at the same time."""

from itertools import product
from pathlib import Path

import pytest

from rig.checks.slots import Slots
from rig.config.pipeline import Duplex
from rig.events.types import CallEnded, Outcome
from rig.fold import result_of
from rig.ids import probe_call_id
from rig.slots import PROBE_FILE, make_probes
from rig.verdict import CheckResult, Verdict
from tests.builders import RUN_YAML, Run, run_config

SLOTS = 3


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run that planned to probe three slots."""
    run = Run(tmp_path / "run")
    limits = Duplex(max_sessions=SLOTS, disconnect_grace_s=5, reaper_interval_s=1)
    probe = make_probes(run_config(tmp_path), limits)
    assert probe is not None
    (run.folder / PROBE_FILE).write_bytes(probe.encode())
    return run


def probe(run: Run, slot: int, *, at_s: float = 60.0, answered: bool = True, number: int = 0) -> None:
    """A caller of the probe gets a session and, when `answered`, a reply; it stays for 5 s."""
    call = probe_call_id(number, slot)
    begin(run, slot, at_s, number)
    run.connect(at_s, call, ready_s=at_s + 0.1)
    if answered:
        run.audio(at_s + 3, call)
    outcome, detail = (Outcome.DONE, "") if answered else (Outcome.NO_REPLY, "turn 0: no audio within 8 s")
    run.close(at_s + 5, call)
    run.call(at_s + 5, CallEnded, call, outcome=outcome, detail=detail)


def begin(run: Run, slot: int, at_s: float, number: int = 0) -> None:
    run.start_call(at_s, probe_call_id(number, slot), slot, behaviour="slots")


def judged(run: Run) -> CheckResult:
    return result_of(Slots, run.history())


def test_a_server_that_answers_a_caller_on_every_slot_passes(run: Run) -> None:
    for slot in range(SLOTS):
        probe(run, slot)
    result = judged(run)
    assert (result.verdict, result.summary) == (
        Verdict.PASS,
        "all 3 slots took and answered a caller at the same time",
    )


def test_a_refused_caller_fails_even_if_it_got_a_slot_later(run: Run) -> None:
    probe(run, 0)
    probe(run, 1)
    run.refuse(60.1, probe_call_id(0, 2))
    probe(run, 2)
    result = judged(run)
    assert (result.verdict, result.summary) == (
        Verdict.FAIL,
        "2 of 3 slots took a caller and answered it when all had to be free",
    )
    finding = result.findings[0]
    assert finding.text == "s000-0002 was refused (resource_exhausted) though every slot must be free"
    assert (finding.call, finding.at_s) == ("s000-0002", 60.0)


def test_a_slot_without_audio_fails(run: Run) -> None:
    probe(run, 0)
    probe(run, 1)
    probe(run, 2, answered=False)
    result = judged(run)
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].text == "s000-0002 got no audio: no_reply turn 0: no audio within 8 s"


def interrupted(folder: Path) -> Run:
    """A run of 10 s of load that planned a probe after each half."""
    text = RUN_YAML + "slots: {every_s: 5}\n"
    run = Run(folder / "two", run=text)
    probes = make_probes(
        run_config(folder, text), Duplex(max_sessions=SLOTS, disconnect_grace_s=5, reaper_interval_s=1)
    )
    assert probes is not None
    (run.folder / PROBE_FILE).write_bytes(probes.encode())
    return run


def test_each_of_several_probes_must_be_whole(tmp_path: Path) -> None:
    run = interrupted(tmp_path)
    for number, slot in product(range(2), range(SLOTS)):
        probe(run, slot, at_s=60.0 + 60 * number, number=number)
    result = judged(run)
    assert (result.verdict, result.summary) == (
        Verdict.PASS,
        "all 3 slots took and answered a caller at the same time, in each of 2 probes",
    )


def test_a_slot_that_is_missing_in_one_of_several_probes_fails(tmp_path: Path) -> None:
    run = interrupted(tmp_path)
    for number, slot in product(range(2), range(SLOTS)):
        probe(run, slot, at_s=60.0 + 60 * number, number=number, answered=(number, slot) != (1, 2))
    result = judged(run)
    assert result.verdict is Verdict.FAIL
    assert [finding.call for finding in result.findings] == ["s001-0002"]


def test_a_caller_without_a_session_fails(run: Run) -> None:
    probe(run, 0)
    probe(run, 1)
    begin(run, 2, 60.0)
    run.call(65.0, CallEnded, probe_call_id(0, 2), outcome=Outcome.LOST, detail="connection refused")
    assert judged(run).findings[0].text == "s000-0002 got no session: lost connection refused"


def test_callers_that_held_their_slots_one_after_another_prove_nothing(run: Run) -> None:
    for slot in range(SLOTS):
        probe(run, slot, at_s=60.0 + 10 * slot)
    result = judged(run)
    assert result.verdict is Verdict.UNKNOWN
    assert result.summary == "every caller of the probe was answered, but only 1 of 3 at the same time"


def test_a_probe_that_did_not_happen_is_unknown(run: Run) -> None:
    probe(run, 0)
    result = judged(run)
    assert (result.verdict, result.summary) == (Verdict.UNKNOWN, "1 of 3 calls of the probe were made")


def test_calls_of_the_load_are_no_probe(run: Run) -> None:
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5)
    assert judged(run).summary == "0 of 3 calls of the probe were made"


def test_a_run_that_planned_no_probe_is_not_judged(tmp_path: Path) -> None:
    result = judged(Run(tmp_path / "run"))
    assert result.verdict is Verdict.PASS
    assert result.summary.startswith("not judged")
