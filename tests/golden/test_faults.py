"""Every fault of the golden server does what its row in the table says, and only when it is armed."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from clients import wire
from rig.checks import CHECKS
from rig.clock import NS_PER_S
from rig.config.pipeline import Duplex
from rig.errors import UsageError
from rig.golden import record
from rig.golden.faults import FAULTS, parse
from rig.pipeline import probe
from rig.watch.memory import resident_bytes
from tests.golden.child import child, now_ns
from tests.golden.phone import LIMIT_S, Phone, serving, wait_for

ONE_SLOT = Duplex(max_sessions=1, disconnect_grace_s=0.05, reaper_interval_s=0.02)


def turn(phone: Phone, end: str = "rate_limits.updated") -> None:
    """One turn, heard to its end."""
    phone.say()
    phone.until(end)


def one_turn(folder: Path, *faults: str, **settings: Any) -> Phone:
    """What a caller hears in one turn on a server with faults."""
    with serving(folder, *faults, **settings) as golden, Phone(golden.url) as phone:
        phone.open()
        turn(phone)
        assert golden.fired()
    return phone


# ---- the table


def test_every_fault_names_a_check_that_exists_or_none() -> None:
    assert {entry.check for entry in FAULTS.values()} - set(CHECKS) == {None}


def test_every_fault_has_a_test_of_its_own_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in FAULTS if f'"{name}' not in text] == []


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("dye", "unknown fault 'dye'"),
        ("die:often=1", "'often=1' is none of its settings"),
        ("die:times", "'times' is none of its settings"),
        ("die:times=some", "times='some' is no int"),
    ],
)
def test_what_is_not_in_the_table_is_refused(spec: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse([spec])


def test_settings_are_read_with_their_types() -> None:
    ((name, fault),) = parse(["exit:status=3,p=0.5,after_sessions=2"])
    assert (name, fault.p, fault.after_sessions) == ("exit", 0.5, 2)
    assert vars(fault)["status"] == 3


# ---- when a fault fires


def test_a_fault_waits_for_as_many_sessions_as_it_was_told(tmp_path: Path) -> None:
    with serving(tmp_path, "two_ends:after_sessions=2") as golden:
        with Phone(golden.url) as first:
            first.open()
            turn(first)
            assert golden.fired() == []
        with Phone(golden.url) as second:
            second.open()
            turn(second)
            assert golden.fired() == ["two_ends"]


def test_a_fault_fires_only_so_many_times(tmp_path: Path) -> None:
    phone = one_turn(tmp_path, "doubled_chunk:times=2")
    assert len(phone.of(wire.AUDIO_DELTA)) == 7


def test_the_same_seed_lets_a_fault_fire_at_the_same_chunks(tmp_path: Path) -> None:
    heard = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        heard.append(one_turn(folder, "doubled_chunk:p=0.5", reply_s=4.0).marks())
    assert heard[0] == heard[1]
    assert 100 < len(heard[0]) < 200


def test_faults_combine(tmp_path: Path) -> None:
    phone = one_turn(tmp_path, "doubled_chunk:times=1", "two_ends")
    assert (len(phone.of(wire.AUDIO_DELTA)), len(phone.of("response.done"))) == (6, 2)


def test_no_fault_is_a_fault_too(tmp_path: Path) -> None:
    with serving(tmp_path, "none") as golden, Phone(golden.url) as phone:
        phone.open()
        turn(phone)
        assert golden.fired() == []
    assert len(phone.of("response.done")) == 1


# ---- faults in the sound


def indices(phone: Phone) -> list[int]:
    """First token of each chunk heard, in units of chunks."""
    return [index // 5 for _, index in phone.marks()[::5]]


@pytest.mark.parametrize(
    ("fault", "chunks"),
    [
        ("missing_start:times=1", [1, 2, 3, 4]),
        ("missing_chunk:times=1", [0, 2, 3, 4]),
        ("doubled_chunk:times=1", [0, 0, 1, 2, 3, 4]),
        ("reordered_chunk:times=1", [1, 0, 2, 3, 4]),
    ],
)
def test_a_chunk_is_missing_or_doubled_or_in_the_wrong_place(tmp_path: Path, fault: str, chunks: list[int]) -> None:
    phone = one_turn(tmp_path, fault)
    assert indices(phone) == chunks
    numbers = [event["server_event_seq"] for event in phone.heard[1:]]
    assert numbers == list(range(1, len(numbers) + 1))


def test_two_sessions_sound_is_crossed(tmp_path: Path) -> None:
    with serving(tmp_path, "cross_audio:times=1") as golden, Phone(golden.url) as one, Phone(golden.url) as other:
        one.open(voice=7)
        other.open(voice=8)
        turn(other)
        assert {voice for voice, _ in other.marks()[:5]} == {7}
        assert {voice for voice, _ in other.marks()[5:]} == {8}
    assert [chunk.voice for chunk in golden.of(record.ChunkSent)] == [7, 8, 8, 8, 8]


def test_sound_comes_after_a_cancel(tmp_path: Path) -> None:
    with serving(tmp_path, "stale_audio:chunks=2", reply_s=60.0) as golden, Phone(golden.url) as phone:
        phone.open()
        phone.say()
        phone.until(wire.AUDIO_DELTA)
        phone.send(wire.cancel_response(None))
        phone.until("response.done")
        assert [phone.next()["type"] for _ in range(2)] == [wire.AUDIO_DELTA] * 2


def test_a_reply_without_a_terminal_event(tmp_path: Path) -> None:
    phone = one_turn(tmp_path, "no_end")
    assert len(phone.of(wire.AUDIO_DELTA)) == 5
    assert phone.of("response.done") == []


def test_a_reply_with_two_terminal_events(tmp_path: Path) -> None:
    assert len(one_turn(tmp_path, "two_ends").of("response.done")) == 2


# ---- faults of connections and slots


@pytest.mark.parametrize(("fault", "code"), [("close_1011:times=1", 1011), ("drop:times=1", None)])
def test_the_server_ends_a_connection_and_keeps_the_session(tmp_path: Path, fault: str, code: int | None) -> None:
    with serving(tmp_path, fault) as golden:
        with Phone(golden.url) as phone:
            created = phone.open()
            phone.say()
            assert phone.until_closed() == code
        with Phone(golden.url) as again:
            assert again.resume(created, phone.last_seq())["type"] == "session.resumed"
            again.until("response.done")


def test_a_session_is_refused_while_slots_are_free(tmp_path: Path) -> None:
    with serving(tmp_path, "refuse:times=1") as golden, Phone(golden.url) as phone:
        phone.send(wire.open_session("golden", b""))
        assert phone.next()["error"]["code"] == "resource_exhausted"
    assert golden.of(record.SessionRefused)[0].slots_held == 0


def test_a_hang_up_costs_a_slot_for_ever(tmp_path: Path) -> None:
    with serving(tmp_path, "lose_slot", limits=ONE_SLOT) as golden:
        with Phone(golden.url) as phone:
            phone.open()
        wait_for(lambda: golden.server.live == {})
        with Phone(golden.url) as later:
            later.send(wire.open_session("golden", b""))
            assert later.next()["error"]["code"] == "resource_exhausted"
    assert golden.of(record.SlotFreed) == []


def test_a_closed_session_lives_on(tmp_path: Path) -> None:
    with serving(tmp_path, "resurrect", limits=ONE_SLOT) as golden:
        with Phone(golden.url) as phone:
            phone.open()
            turn(phone)
            phone.send(wire.CLOSE_SESSION)
            phone.until("session.closed")
            assert phone.next()["type"] == wire.AUDIO_DELTA
            assert phone.until_closed() == 1000
        assert golden.server.admission.full


# ---- faults of a resume


def resumed(folder: Path, fault: str) -> tuple[Phone, Phone]:
    """A turn, a hang-up, a resume and another turn: the two connections."""
    with serving(folder, fault) as golden:
        with Phone(golden.url) as first:
            created = first.open()
            turn(first)
        with Phone(golden.url) as second:
            second.resume(created, first.last_seq())
            turn(second)
        assert golden.fired() == [fault]
    return first, second


@pytest.mark.parametrize(("fault", "step"), [("repeat_seq", 0), ("skip_seq", 2)])
def test_numbers_go_wrong_after_a_resume(tmp_path: Path, fault: str, step: int) -> None:
    first, second = resumed(tmp_path, fault)
    assert second.heard[1]["server_event_seq"] - first.last_seq() == step


def test_a_resume_tells_the_old_generation(tmp_path: Path) -> None:
    _, second = resumed(tmp_path, "wrong_generation")
    assert second.heard[0]["attachment_generation"] == 1


def test_a_dropped_session_is_forgotten(tmp_path: Path) -> None:
    with serving(tmp_path, "forget", limits=ONE_SLOT) as golden:
        with Phone(golden.url) as first:
            created = first.open()
        wait_for(lambda: golden.fired() == ["forget"])
        with Phone(golden.url) as second:
            assert second.resume(created, 0)["error"]["code"] == "session_resume_expired"
        with Phone(golden.url) as third:
            third.open()


def test_a_reply_has_the_id_of_another_sessions_reply(tmp_path: Path) -> None:
    with serving(tmp_path, "shared_id:times=1") as golden, Phone(golden.url) as one, Phone(golden.url) as other:
        one.open()
        turn(one)
        other.open()
        turn(other)
    ids = [{event["response_id"] for event in phone.of("response.done")} for phone in (one, other)]
    assert ids[0] == ids[1] == {event["response_id"] for event in other.of(wire.AUDIO_DELTA)}


def test_the_previous_reply_comes_again_after_a_resume(tmp_path: Path) -> None:
    first, second = resumed(tmp_path, "wrong_turn")
    deltas = [[event["delta"] for event in phone.of(wire.AUDIO_DELTA)] for phone in (first, second)]
    assert deltas[0] == deltas[1]
    ids = [phone.of("response.done")[0]["response_id"] for phone in (first, second)]
    assert ids[0] != ids[1]


# ---- faults of the whole server


def test_a_hung_server_says_nothing_more_and_is_healthy(tmp_path: Path) -> None:
    with serving(tmp_path, "hang:after_sessions=1") as golden, Phone(golden.url) as phone:
        phone.open()
        phone.say()
        wait_for(lambda: golden.fired() == ["hang"])
        phone.send(wire.HEARTBEAT)
        assert asyncio.run(probe.health(golden.url, 5)).status == 200
        # Two round trips of the WebSocket itself: by then an answer to the heartbeat would have been sent.
        for _ in range(2):
            assert phone.socket.ping().wait(LIMIT_S)
        phone.socket.close()
        phone.until_closed()
        assert phone.types()[-1] == "response.content_part.added"
        with Phone(golden.url) as other:
            other.open()


@pytest.mark.parametrize(("fault", "status"), [("die", -signal.SIGKILL), ("exit:status=3", 3)])
def test_the_process_ends_in_the_middle_of_a_reply(tmp_path: Path, fault: str, status: int) -> None:
    with child(tmp_path, fault) as server, Phone(server.url) as phone:
        phone.open()
        phone.say()
        with pytest.raises(ConnectionClosed):
            phone.until("response.done")
        assert server.ended() == status
        assert len(phone.of(wire.AUDIO_DELTA)) <= 1
        assert len(server.of(record.ChunkSent)) == 1


def test_the_process_ends_when_the_load_is_over(tmp_path: Path) -> None:
    with child(tmp_path, "late_death:delay_s=0.1,status=4") as server:
        for _ in range(2):
            with Phone(server.url) as phone:
                phone.open()
                turn(phone)
                phone.send(wire.CLOSE_SESSION)
                phone.until_closed()
        assert server.ended() == 4
        assert len(server.of(record.ReplyEnded)) == 2


def test_a_frozen_server_answers_nobody_and_then_goes_on(tmp_path: Path) -> None:
    with child(tmp_path, "freeze:for_s=0.5") as server, Phone(server.url) as phone:
        phone.open()
        phone.say()
        phone.until("response.done")
        (fired,) = server.of(record.FaultFired)
        chunks = server.of(record.ChunkSent)
        assert chunks[1].t_ns - fired.t_ns >= NS_PER_S // 2


def test_a_slow_server_listens_only_after_its_time(tmp_path: Path) -> None:
    begin_ns = now_ns()
    with child(tmp_path, "slow_start:for_s=0.5") as server, Phone(server.url) as phone:
        phone.open()
        (started,) = server.of(record.Started)
    assert started.t_ns - begin_ns >= NS_PER_S // 2


def test_the_server_does_not_stop_when_asked(tmp_path: Path) -> None:
    with child(tmp_path, "stay") as server:
        server.process.terminate()
        wait_for(lambda: [line.fault for line in server.of(record.FaultFired)] == ["stay"])
        with Phone(server.url) as phone:
            phone.open()
        server.process.kill()
        assert server.ended() == -signal.SIGKILL


def test_memory_is_kept_for_each_cut_reply(tmp_path: Path) -> None:
    with child(tmp_path, "leak:mib=16", reply_s=60) as server, Phone(server.url) as phone:
        phone.open()
        sizes = []
        for _ in range(3):
            phone.say()
            phone.until(wire.AUDIO_DELTA)
            phone.send(wire.cancel_response(None))
            phone.until("response.done")
            sizes.append(resident_bytes(server.process.pid) or 0)
        assert sizes[2] - sizes[0] >= 32 << 20
