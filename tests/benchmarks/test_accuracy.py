"""The comparison with the golden server's own record: everything finds its line, and an error of the rig is told."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
import yaml

from benchmarks import accuracy
from benchmarks.accuracy import Compared, Recorded, Truth, compare
from rig import history
from rig.events.types import AudioReceived, SessionReady
from rig.golden import record
from rig.pipeline.golden import RECORD_FILE

NS_PER_MS = 1_000_000

pytestmark = pytest.mark.timeout(200)

COMPARED_ALWAYS = ("connect", "first_audio", "response_latency", "chunk_gap", "audio_underrun", "audio_rtf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of some callers who do everything that callers can do."""
    return accuracy.carry_out(tmp_path_factory.mktemp("run"), callers=4, load_s=12, port=0)


@pytest.fixture(scope="module")
def lines(folder: Path) -> list[record.AnyLine]:
    return list(record.read(folder / "server" / RECORD_FILE))


def by_name(folder: Path, lines: Sequence[record.AnyLine]) -> dict[str, Compared]:
    return {one.name: one for one in compare(folder, lines)[0]}


def test_every_value_has_a_partner(folder: Path, lines: list[record.AnyLine]) -> None:
    found = by_name(folder, lines)
    assert {name: one.unpaired for name, one in found.items() if one.unpaired} == {}
    assert all(found[name].errors_ns for name in COMPARED_ALWAYS)
    assert set(found["audio_duration"].errors_ns) == {0}


def test_whatever_callers_read_the_server_had_sent_before(folder: Path, lines: list[record.AnyLine]) -> None:
    """Causality, on whatever machine: the clocks are one."""
    run, recorded = history.load(folder), Recorded(Truth(lines))
    pairs = 0
    for call in (call for calls in run.calls() for call in calls):
        true = recorded.call(call)
        for kind in (SessionReady, AudioReceived):
            for read, sent in zip(call.of(kind), true.of(kind), strict=True):
                assert sent.t_ns < read.t_ns
                pairs += 1
        ended = [[event.t_ns for event in each.said("response.done")] for each in (call, true)]
        assert all(sent < read for read, sent in zip(*ended, strict=True))
    assert pairs > 0


def test_sound_stamped_late_is_an_error_of_the_figures_that_hear_it(folder: Path, lines: list[record.AnyLine]) -> None:
    late_ns = 20 * NS_PER_MS
    moved = [
        msgspec.structs.replace(line, t_ns=line.t_ns - late_ns) if isinstance(line, record.ChunkSent) else line
        for line in lines
    ]
    right, wrong = by_name(folder, lines), by_name(folder, moved)
    for name in ("first_audio", "audio_rtf"):
        assert not wrong[name].is_near
    assert [error - late_ns for error in wrong["first_audio"].errors_ns] == list(right["first_audio"].errors_ns)
    assert wrong["chunk_gap"].errors_ns == right["chunk_gap"].errors_ns
    assert wrong["response_latency"].errors_ns == right["response_latency"].errors_ns


def test_speech_that_came_in_late_is_an_error_of_what_counts_from_it(folder: Path, lines: list[record.AnyLine]) -> None:
    late_ns = 20 * NS_PER_MS
    moved = [
        msgspec.structs.replace(line, heard_ns=line.heard_ns + late_ns)
        if isinstance(line, record.SpeechEnded)
        else line
        for line in lines
    ]
    right, wrong = by_name(folder, lines), by_name(folder, moved)
    for name in ("first_audio", "response_latency"):
        assert [error - late_ns for error in wrong[name].errors_ns] == list(right[name].errors_ns)


def test_a_chunk_that_the_server_never_sent_leaves_a_value_without_a_partner(
    folder: Path, lines: list[record.AnyLine]
) -> None:
    heard = {
        audio.response_id
        for calls in history.load(folder).calls()
        for call in calls
        for audio in call.of(AudioReceived)
    }
    gone = next(line for line in lines if isinstance(line, record.ChunkSent) and line.sent and line.response in heard)
    place = gone.response, gone.index
    kept = [line for line in lines if not (isinstance(line, record.ChunkSent) and (line.response, line.index) == place)]
    compared, unmatched = compare(folder, kept)
    assert unmatched["chunk"] > 0
    assert not all(one.is_near for one in compared)
    assert not accuracy.report(compared, unmatched)


def test_what_is_sent_again_is_matched_with_the_time_of_its_last_sending() -> None:
    fields = {"session": "s", "response": "r", "turn": 1, "index": 0, "planned_ns": 10, "voice": 1, "stream": 1}
    sound = {"first_token": 0, "tokens": 5, "samples": 4_800}
    first, kept, again = (
        record.ChunkSent(t_ns=t_ns, sent=sent, replayed=replayed, **fields, **sound)  # type: ignore[arg-type]
        for t_ns, sent, replayed in ((10, True, False), (20, False, False), (30, True, True))
    )
    truth = Truth([first, kept, again])
    assert [truth.before(t_ns, "chunk", "r", 0) for t_ns in (9, 15, 25, 31)] == [None, 10, 10, 30]
    assert truth.unmatched == {"chunk": 1}


def test_the_limit_holds_for_the_size_of_errors_in_either_direction() -> None:
    near = Compared("connect", tuple([NS_PER_MS] * 99 + [-90 * NS_PER_MS]), 0)
    far = Compared("connect", tuple([NS_PER_MS] * 98 + [-6 * NS_PER_MS] * 2), 0)
    assert (near.p99_ms, near.is_near, far.is_near) == (1.0, True, False)
    assert not Compared("connect", (), 1).is_near
    assert "FAIL" in far.told()


def test_the_shipped_settings_are_a_run_of_the_golden_server() -> None:
    assert yaml.safe_load(accuracy.pipeline(50, 0))["duplex_session"]["max_sessions"] > 50
