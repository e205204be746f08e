"""The plan: the same config and seed give the same bytes, everywhere; what has a weight occurs, what has none never."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from rig import speech
from rig.config.run import RunConfig
from rig.errors import RigError, UsageError
from rig.ids import call_id
from rig.plan import MIN_REPLY_MS, Plan, make_plan, make_rounds, read, replayed_sha256
from rig.scripts import Behaviour, CallScript, HangUpHow, HangUpWhen, InterruptBy, Return, TurnScript
from tests.builders import RUN_YAML, edited, run_config

ROOT = Path(__file__).resolve().parents[1]
LARGE = edited(RUN_YAML, callers=20, duration_s=200)
OPEN = edited(RUN_YAML, callers=5, duration_s=200, pause_s="").replace("  pause_s: \n", "")
PRINT_PLAN = """
import sys
from pathlib import Path
from rig.config.load import load_run
from rig.plan import make_plan
sys.stdout.buffer.write(make_plan(load_run(Path(sys.argv[1]))).encode())
"""


def opened(arrivals: str, ramp: str = "{}", text: str = OPEN) -> str:
    """The open-loop run file with these arrivals."""
    return text.replace("load:\n", f"load:\n  arrivals: {arrivals}\n  ramp: {ramp}\n", 1)


POISSON = opened("{kind: poisson, rate: 2}")
BURSTY = opened("{kind: gamma, rate: 2, burstiness: 0.3}", "{up_s: 50, down_s: 20}")


def turns(plan: Plan) -> Iterator[TurnScript]:
    for call in plan.calls:
        yield from call.turns


def plan_in(python: str, run_file: Path, hash_seed: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    command = [python, "-c", PRINT_PLAN, str(run_file)]
    return subprocess.run(command, check=True, capture_output=True, env=environment).stdout


def other_pythons() -> list[str]:
    """Pythons of other versions on this machine that have what a plan needs."""
    found = []
    for minor in (11, 12, 13, 14):
        python = shutil.which(f"python3.{minor}")
        if python is None or minor == sys.version_info.minor:
            continue
        needs = subprocess.run([python, "-c", "import msgspec, pydantic, yaml"], capture_output=True, check=False)
        if needs.returncode == 0:
            found.append(python)
    return found


def test_the_plan_has_the_same_bytes_in_processes_with_other_hash_seeds(tmp_path: Path) -> None:
    expected = make_plan(run_config(tmp_path, LARGE)).encode()
    run_file = tmp_path / "run.yaml"
    assert plan_in(sys.executable, run_file, "1") == expected
    assert plan_in(sys.executable, run_file, "2") == expected


def test_the_plan_has_the_same_bytes_under_other_pythons(tmp_path: Path) -> None:
    pythons = other_pythons()
    if not pythons:
        pytest.skip("no other Python >= 3.11 with msgspec, pydantic and PyYAML on this machine")
    expected = make_plan(run_config(tmp_path, LARGE)).encode()
    for python in pythons:
        assert plan_in(python, tmp_path / "run.yaml", "1") == expected


def test_the_plan_of_a_known_config_never_changes(tmp_path: Path) -> None:
    """A change of this hash (or of a recording) changes every plan: old seeds no longer give what they gave."""
    # Also with weights whose plain sum differs between Python 3.11 (0.6000000000000001) and 3.12 (0.6).
    text = RUN_YAML.replace("{rst: 1, fin: 1, close_frame: 1}", "{rst: 0.1, fin: 0.2, close_frame: 0.3}")
    plan = make_plan(run_config(tmp_path, text))
    assert plan.sha256() == "5537602b9469e7a2269212cc135ef7d1377bb506ac7b8499a7792844c9e70ded"


@pytest.mark.parametrize(
    ("text", "sha256"),
    [
        pytest.param(POISSON, "f8246eedaab2ec2c9230123cf5ce81f14c48e30db3eac3ed9bb8a2074e6c64d2", id="poisson"),
        pytest.param(
            BURSTY, "7296dd729d3302f877bb86b56104d36568178cd5039517f527dd1e0865bc36af", id="bursts with ramps"
        ),
        pytest.param(
            opened("{kind: gamma, rate: 2, burstiness: 4}"),
            "705bd4fe618ddcfba8b12c96dcd379d6cbfdd2d3b71bcff97dcb71922be8ce38",
            id="steady",
        ),
        pytest.param(
            opened("{kind: constant, rate: 2}", "{up_s: 50}"),
            "dac1eab10510e1f278bd6cb938192b19ee714be919134a80d1540d43c5e6c52e",
            id="constant with a ramp",
        ),
    ],
)
def test_an_open_plan_of_a_known_config_never_changes(tmp_path: Path, text: str, sha256: str) -> None:
    """What guards the arithmetic of arrivals in other Python versions and on other machines."""
    assert make_plan(run_config(tmp_path, text)).sha256() == sha256


def test_an_open_plan_has_the_same_bytes_in_processes_with_other_hash_seeds(tmp_path: Path) -> None:
    expected = make_plan(run_config(tmp_path, BURSTY)).encode()
    for python in (sys.executable, *other_pythons()):
        assert plan_in(python, tmp_path / "run.yaml", "1") == expected
        assert plan_in(python, tmp_path / "run.yaml", "2") == expected


def test_other_arrivals_bring_the_same_calls_at_other_times(tmp_path: Path) -> None:
    one, other = (make_plan(run_config(tmp_path, text)).calls[:200] for text in (POISSON, BURSTY))
    assert [call.turns for call in one] == [call.turns for call in other]
    assert [call.start_us for call in one] != [call.start_us for call in other]


def test_burstiness_1_is_poisson(tmp_path: Path) -> None:
    same = opened("{kind: gamma, rate: 2, burstiness: 1}")
    assert make_plan(run_config(tmp_path, same)) == make_plan(run_config(tmp_path, POISSON))


def test_an_open_call_belongs_to_no_slot_and_has_its_own_name(tmp_path: Path) -> None:
    plan = make_plan(run_config(tmp_path, POISSON))
    assert plan.is_open
    assert [call.call for call in plan.calls[:2]] == ["o000000", "o000001"]
    assert not any(plan.calls_of(slot) for slot in range(5))
    starts = [call.start_us or 0 for call in plan.calls]
    assert starts == sorted(starts)


def test_a_closed_ramp_lets_slots_begin_and_leave_one_after_the_other(tmp_path: Path) -> None:
    text = LARGE.replace("load:\n", "load:\n  ramp: {up_s: 100, down_s: 50}\n", 1)
    plan = make_plan(run_config(tmp_path, text))
    for caller in range(20):
        first, *more = plan.calls_of(caller)
        assert 5_000 * caller + 100 <= first.pause_ms <= 5_000 * caller + 200
        assert {call.latest_ms for call in (first, *more)} == {200_000 - 2_500 * caller}
        assert all(call.pause_ms <= 200 for call in more)


def test_named_lengths_give_turns_in_their_shares(tmp_path: Path) -> None:
    lengths = "{short: {weight: 3, turns: {low: 1, high: 2}}, long: {weight: 1, turns: {low: 8, high: 9}}}"
    text = LARGE.replace("behaviours:\n", f"behaviours:\n  lengths: {lengths}\n")
    text = text.replace("    turns: {low: 1, high: 1}\n", "").replace("    turns: {low: 1, high: 2}\n", "")
    calls = [call for call in make_plan(run_config(tmp_path, text)).calls if call.behaviour is not Behaviour.HANG_UP]
    assert {len(call.turns) for call in calls if call.length == "short"} == {1, 2}
    assert {len(call.turns) for call in calls if call.length == "long"} == {8, 9}
    assert sum(call.length == "long" for call in calls) / len(calls) == pytest.approx(0.25, abs=0.06)


def replaying(folder: Path, plan: Plan, more: str = "", **settings: object) -> RunConfig:
    (folder / "old.jsonl").write_bytes(plan.encode())
    text = opened(f"{{kind: replay, plan: old.jsonl{more}}}")
    return run_config(folder, edited(text, **settings) if settings else text)


def test_a_replay_is_the_same_plan(tmp_path: Path) -> None:
    plan = make_plan(run_config(tmp_path, POISSON))
    config = replaying(tmp_path, plan, f", sha256: {hashlib.sha256(plan.encode()).hexdigest()}")
    assert make_plan(config, tmp_path / "run.yaml").encode() == plan.encode()
    assert replayed_sha256(config, tmp_path / "run.yaml") == plan.sha256()


def test_an_open_plan_can_be_replayed_with_other_slots(tmp_path: Path) -> None:
    plan = make_plan(run_config(tmp_path, POISSON))
    again = make_plan(replaying(tmp_path, plan, callers=9), tmp_path / "run.yaml")
    assert (again.callers, again.calls) == (9, plan.calls)


@pytest.mark.parametrize(
    ("more", "settings", "told"),
    [
        (f", sha256: '{'f' * 64}'", {}, "is not the plan that the run file means"),
        ("", {"seed": 8}, "has the seed 7, the run file 8"),
        ("", {"duration_s": 20}, "let `duration_s` be more than that"),
    ],
)
def test_a_plan_that_does_not_fit_the_run_is_not_replayed(
    tmp_path: Path, more: str, settings: dict[str, object], told: str
) -> None:
    plan = make_plan(run_config(tmp_path, POISSON))
    with pytest.raises(UsageError, match=told):
        make_plan(replaying(tmp_path, plan, more, **settings), tmp_path / "run.yaml")


def test_a_closed_plan_is_replayed_with_its_own_number_of_slots(tmp_path: Path) -> None:
    plan = make_plan(run_config(tmp_path))
    assert make_plan(replaying(tmp_path, plan, callers=1), tmp_path / "run.yaml") == plan
    with pytest.raises(UsageError, match="has 1 callers, the run file 5"):
        make_plan(replaying(tmp_path, plan), tmp_path / "run.yaml")


def test_another_seed_is_another_plan(tmp_path: Path) -> None:
    assert (
        make_plan(run_config(tmp_path)).sha256() != make_plan(run_config(tmp_path, edited(RUN_YAML, seed=8))).sha256()
    )


def test_more_callers_leave_the_calls_of_the_others_alone(tmp_path: Path) -> None:
    one = make_plan(run_config(tmp_path))
    two = make_plan(run_config(tmp_path, edited(RUN_YAML, callers=2)))
    assert two.calls_of(0) == list(one.calls)
    assert two.calls_of(1)


def test_a_load_that_is_interrupted_has_its_calls_in_parts_that_make_up_the_plan(tmp_path: Path) -> None:
    config = run_config(tmp_path, edited(RUN_YAML, callers=2) + "slots: {every_s: 3}\n")
    plan = make_plan(config)
    parts = make_rounds(config, plan)
    assert config.rounds_s == (10 / 3,) * 3
    assert [part.callers for part in parts] == [2, 2, 2]
    for caller in range(2):
        assert [call for part in parts for call in part.calls_of(caller)] == plan.calls_of(caller)
        assert [call.index for call in plan.calls_of(caller)] == list(range(len(plan.calls_of(caller))))
        assert all(part.calls_of(caller) for part in parts)


def test_a_load_that_is_not_interrupted_is_one_part(tmp_path: Path) -> None:
    config = run_config(tmp_path)
    plan = make_plan(config)
    assert make_rounds(config, plan) == (plan,)


def test_every_behaviour_and_option_with_a_weight_occurs(tmp_path: Path) -> None:
    plan = make_plan(run_config(tmp_path, LARGE))
    hang_ups = [turn.hang_up for turn in turns(plan) if turn.hang_up is not None]
    assert {call.behaviour for call in plan.calls} == set(Behaviour) - {Behaviour.SLOTS}
    assert {turn.interrupt.by for turn in turns(plan) if turn.interrupt is not None} == set(InterruptBy)
    assert {hang_up.how for hang_up in hang_ups} == set(HangUpHow)
    assert {hang_up.when for hang_up in hang_ups} == set(HangUpWhen)
    assert {hang_up.then for hang_up in hang_ups} == set(Return)
    assert {turn.utterance for turn in turns(plan)} == set(speech.NAMES)


def test_what_has_weight_0_never_occurs(tmp_path: Path) -> None:
    text = LARGE.replace("{rst: 1, fin: 1, close_frame: 1}", "{rst: 0, fin: 1, close_frame: 0}")
    text = text.replace("{speech: 1, cancel: 1}", "{speech: 1, cancel: 0}").replace(
        "polite:\n    weight: 1", "polite:\n    weight: 0"
    )
    plan = make_plan(run_config(tmp_path, text))
    assert {call.behaviour for call in plan.calls} == {Behaviour.BARGE_IN, Behaviour.HANG_UP}
    assert {turn.hang_up.how for turn in turns(plan) if turn.hang_up is not None} == {HangUpHow.FIN}
    assert {turn.interrupt.by for turn in turns(plan) if turn.interrupt is not None} == {InterruptBy.SPEECH}


def test_weights_are_shares(tmp_path: Path) -> None:
    text = LARGE.replace("hang_up:\n    weight: 1", "hang_up:\n    weight: 6")
    calls = make_plan(run_config(tmp_path, text)).calls
    share = sum(call.behaviour is Behaviour.HANG_UP for call in calls) / len(calls)
    # 6 of 8; the plan is fixed by its seed, so this cannot flicker.
    assert share == pytest.approx(0.75, abs=0.05)


def test_moments_stay_within_their_spans(tmp_path: Path) -> None:
    plan = make_plan(run_config(tmp_path, LARGE))
    assert all(100 <= call.pause_ms <= 200 for call in plan.calls)
    assert all(100 <= turn.pause_ms <= 200 for turn in turns(plan))
    for turn in turns(plan):
        if turn.interrupt is not None:
            assert 300 <= turn.interrupt.after_audio_ms <= 1_500
        if turn.hang_up is not None:
            # Before session.created there are only milliseconds: a twentieth of 100 to 1000 ms.
            before = turn.hang_up.when is HangUpWhen.BEFORE_CREATED
            assert (5 if before else 100) <= turn.hang_up.after_ms <= (50 if before else 1_000)


def test_late_sound_has_its_share_of_all_calls_and_changes_nothing_else(tmp_path: Path) -> None:
    text = LARGE.replace("behaviours:\n", "behaviours:\n  late_sound: {share: 0.25, for_s: {low: 0.5, high: 1.0}}\n", 1)
    without, with_it = (make_plan(run_config(tmp_path, written)) for written in (LARGE, text))
    assert without.calls == tuple(replace(call, late_sound_ms=0) for call in with_it.calls)
    late_ms = [call.late_sound_ms for call in with_it.calls if call.late_sound_ms > 0]
    assert 0.15 < len(late_ms) / len(with_it.calls) < 0.35
    assert min(late_ms) >= 500
    assert max(late_ms) <= 1_000
    assert {call.behaviour for call in with_it.calls if call.late_sound_ms > 0} >= {
        Behaviour.POLITE, Behaviour.BARGE_IN, Behaviour.HANG_UP,
    }  # fmt: skip


def test_only_speech_that_interrupts_has_words(tmp_path: Path) -> None:
    for turn in turns(make_plan(run_config(tmp_path, LARGE))):
        if turn.interrupt is not None:
            assert (turn.interrupt.utterance in speech.NAMES) is (turn.interrupt.by is InterruptBy.SPEECH)


def test_a_caller_who_hangs_up_has_a_turn_after_the_return(tmp_path: Path) -> None:
    plan = make_plan(run_config(tmp_path, LARGE))
    for call in plan.calls:
        hung_up = [turn.hang_up is not None for turn in call.turns]
        assert hung_up == [True, False] if call.behaviour is Behaviour.HANG_UP else not any(hung_up)


def test_the_calls_of_a_slot_are_numbered_and_fill_the_load(tmp_path: Path) -> None:
    plan = make_plan(run_config(tmp_path, LARGE))
    for caller in range(20):
        calls = plan.calls_of(caller)
        assert [call.call for call in calls] == [call_id(caller, index) for index in range(len(calls))]
        shortest_ms = sum(shortest(call) for call in calls)
        assert shortest_ms >= 200_000
        assert shortest_ms - shortest(calls[-1]) < 200_000


def shortest(call: CallScript) -> int:
    """Pauses, speech and the shortest reply of each turn that is not broken off."""
    whole = [turn for turn in call.turns if turn.hang_up is None]
    return call.pause_ms + sum(turn.pause_ms + speech.duration_ms(turn.utterance) + MIN_REPLY_MS for turn in whole)


def test_a_load_without_time_has_no_calls(tmp_path: Path) -> None:
    assert make_plan(run_config(tmp_path, edited(RUN_YAML, duration_s=0))).calls == ()


def test_a_plan_comes_back_from_its_file(tmp_path: Path) -> None:
    plan = make_plan(run_config(tmp_path))
    path = tmp_path / "plan.jsonl"
    path.write_bytes(plan.encode())
    assert read(path) == plan
    assert read(path).sha256() == plan.sha256()


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: b"hello\n", id="no plan"),
        pytest.param(lambda data: data[:-10], id="torn last line"),
        pytest.param(lambda data: data[: data.rindex(b"\n", 0, -1) + 1], id="last call missing"),
        pytest.param(lambda data: data.replace(b'"version":1', b'"version":2'), id="other version"),
        pytest.param(lambda data: data.replace(b'"polite"', b'"rude"'), id="unknown behaviour"),
    ],
)
def test_a_damaged_plan_is_an_error(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "plan.jsonl"
    path.write_bytes(damage(make_plan(run_config(tmp_path)).encode()))
    with pytest.raises(RigError, match=r"plan\.jsonl"):
        read(path)


def test_a_plan_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RigError, match="is not a plan"):
        read(tmp_path / "plan.jsonl")


def test_a_turn_interval_is_what_a_caller_spends_on_its_turns_at_least() -> None:
    """Two calls, three turns: the pauses before calls and turns, the speech, and a second of each reply."""
    said = TurnScript("short", 100)
    calls = (
        CallScript(call_id(0, 0), 0, 0, Behaviour.POLITE, 500, (said, said)),
        CallScript(call_id(0, 1), 0, 1, Behaviour.POLITE, 700, (said,)),
    )
    one_turn_ms = 100 + speech.duration_ms("short") + MIN_REPLY_MS
    expected_ms = (500 + 700 + 3 * one_turn_ms) // 3
    assert Plan(1, 1, calls).turn_intervals_ns() == {0: expected_ms * 1_000_000}
