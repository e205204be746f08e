"""The probe of the slots: a polite caller for each slot, at the same moment, when every slot has to be free."""

from pathlib import Path

from rig import plan
from rig.config.pipeline import Duplex
from rig.scripts import Behaviour
from rig.slots import PROBE_FILE, make_probes, one_probe, settle_s
from tests.builders import RUN_YAML, run_config

LIMITS = Duplex(max_sessions=4, disconnect_grace_s=5, reaper_interval_s=1)


def test_there_is_one_call_for_each_slot_all_due_at_the_same_moment(tmp_path: Path) -> None:
    probe = make_probes(run_config(tmp_path), LIMITS)
    assert probe is not None
    assert [call.caller for call in probe.calls] == [0, 1, 2, 3]
    assert {(call.behaviour, call.pause_ms, len(call.turns)) for call in probe.calls} == {(Behaviour.SLOTS, 500, 1)}
    assert all(turn.interrupt is None and turn.hang_up is None for call in probe.calls for turn in call.turns)


def test_its_calls_have_names_and_so_voices_of_their_own(tmp_path: Path) -> None:
    config = run_config(tmp_path)
    probe = make_probes(config, LIMITS)
    assert probe is not None
    assert not {call.call for call in probe.calls} & {call.call for call in plan.make_plan(config).calls}


def test_it_travels_as_a_plan(tmp_path: Path) -> None:
    probe = make_probes(run_config(tmp_path), LIMITS)
    assert probe is not None
    (tmp_path / PROBE_FILE).write_bytes(probe.encode())
    assert plan.read(tmp_path / PROBE_FILE) == probe


def test_there_is_none_for_a_server_of_unknown_limits_or_when_the_run_file_wants_none(tmp_path: Path) -> None:
    assert make_probes(run_config(tmp_path), None) is None
    assert make_probes(run_config(tmp_path, RUN_YAML + "slots: {probe: false}\n"), LIMITS) is None


def test_it_waits_for_grace_reaper_and_margin(tmp_path: Path) -> None:
    assert settle_s(run_config(tmp_path, RUN_YAML + "slots: {margin_s: 2.5}\n"), LIMITS) == 8.5


def test_an_interrupted_load_has_a_probe_after_each_part(tmp_path: Path) -> None:
    probes = make_probes(run_config(tmp_path, RUN_YAML + "slots: {every_s: 5}\n"), LIMITS)
    assert probes is not None
    assert len({call.call for call in probes.calls}) == 8
    parts = [one_probe(probes, number) for number in range(2)]
    assert [[call.caller for call in part.calls] for part in parts] == [[0, 1, 2, 3]] * 2
    assert parts[0].calls + parts[1].calls == probes.calls
