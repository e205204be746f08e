"""Audio: each caller hears its own voice, and every token of a reply once and in order."""

from pathlib import Path

import pytest

from rig.checks.audio import Audio
from rig.events.types import Connect, MarkRun
from rig.fold import result_of
from rig.verdict import Verdict
from tests.builders import EXTERNAL_YAML, GOLDEN_YAML, PIPELINE_YAML, Run, edited

OWN, FOREIGN = 11, 22


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5, voice=OWN)
    return run


def hear(
    run: Run, at_s: float, first: int, count: int, voice: int = OWN, stream: int = 0, response_id: str = "r0"
) -> None:
    """One chunk of `count` tokens from `first` on."""
    run.audio(at_s, marks=[MarkRun(voice, stream, first, count)], samples=960 * count, response_id=response_id)


def test_own_voice_in_order_passes(run: Run) -> None:
    hear(run, 5.0, 0, 25)
    hear(run, 6.0, 25, 25)
    result = result_of(Audio, run.history())
    assert result.verdict is Verdict.PASS
    assert result.summary == "50 token frames in 2 chunks: own voice, in order"


def test_a_foreign_voice_fails(run: Run) -> None:
    hear(run, 5.0, 0, 25, voice=FOREIGN)
    result = result_of(Audio, run.history())
    assert (result.verdict, result.summary) == (Verdict.FAIL, "1 faults in 1 chunks")
    finding = result.findings[0]
    assert (finding.text, finding.at_s) == ("c000-0000 heard voice 22, its own is 11", 5.0)


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        pytest.param([(0, 25), (26, 24)], "got token 26 of a reply, due was 25", id="missing"),
        pytest.param([(0, 25), (24, 25)], "got token 24 of a reply, due was 25", id="doubled"),
        pytest.param([(0, 25), (50, 25), (25, 25)], "got token 50 of a reply, due was 25", id="out of order"),
    ],
)
def test_a_token_out_of_place_fails(run: Run, runs: list[tuple[int, int]], told: str) -> None:
    for index, (first, count) in enumerate(runs):
        hear(run, 5.0 + index, first, count)
    result = result_of(Audio, run.history())
    assert result.verdict is Verdict.FAIL
    assert result.findings[0].text == f"c000-0000 {told}"


def test_a_token_out_of_place_within_a_chunk_fails(run: Run) -> None:
    run.audio(5.0, marks=[MarkRun(OWN, 0, 0, 10), MarkRun(OWN, 0, 11, 5)], samples=960 * 15)
    assert result_of(Audio, run.history()).findings[0].text == "c000-0000 got token 11 of a reply, due was 10"


def test_sound_without_a_mark_fails(run: Run) -> None:
    run.audio(5.0, marks=[MarkRun(OWN, 0, 0, 1)], samples=1_000, unreadable=40)
    assert result_of(Audio, run.history()).findings[0].text == "c000-0000: 40 samples without a mark"


def test_each_reply_counts_its_own_tokens(run: Run) -> None:
    hear(run, 5.0, 0, 25)
    hear(run, 6.0, 0, 25, stream=1, response_id="r1")
    hear(run, 7.0, 25, 25)
    assert result_of(Audio, run.history()).verdict is Verdict.PASS


def test_a_reply_whose_first_token_is_missing_fails(run: Run) -> None:
    hear(run, 5.0, 1, 24)
    hear(run, 6.0, 25, 25)
    result = result_of(Audio, run.history())
    assert [finding.text for finding in result.findings] == ["c000-0000 got token 1 of a reply, due was 0"]


def test_a_reply_that_goes_on_after_a_resume_goes_on_where_it_was(run: Run) -> None:
    hear(run, 5.0, 0, 25)
    run.connect(6.0, connection=1, why=Connect.RESUME, ready_s=6.5, resumed=True, voice=OWN)
    run.audio(7.0, connection=1, marks=[MarkRun(OWN, 0, 25, 25)])
    assert result_of(Audio, run.history()).verdict is Verdict.PASS


def test_a_gap_is_unknown_where_events_are_lost(run: Run) -> None:
    hear(run, 5.0, 0, 25)
    hear(run, 6.0, 25, 25)
    hear(run, 7.0, 50, 25)
    lines = run.path("callers").read_bytes().splitlines(keepends=True)
    run.path("callers").write_bytes(b"".join([*lines[:-2], lines[-1]]))
    result = result_of(Audio, run.history(closed=False))
    assert result.verdict is Verdict.UNKNOWN
    assert result.summary == "1 faults in 2 chunks, but events are lost from the journals"


def test_the_index_begins_anew_after_16_bits(run: Run) -> None:
    hear(run, 4.0, 0, 65_500)
    hear(run, 5.0, 65_500, 36)
    hear(run, 6.0, 0, 25)
    assert result_of(Audio, run.history()).verdict is Verdict.PASS


def test_a_new_session_of_the_call_has_a_voice_of_its_own(run: Run) -> None:
    run.connect(10.0, connection=1, why=Connect.NEW_SESSION, ready_s=10.5, voice=FOREIGN)
    run.audio(12.0, connection=1, marks=[MarkRun(FOREIGN, 1, 0, 5)], response_id="r1")
    assert result_of(Audio, run.history()).verdict is Verdict.PASS


def test_the_old_voice_in_a_new_session_fails(run: Run) -> None:
    run.connect(10.0, connection=1, why=Connect.NEW_SESSION, ready_s=10.5, voice=FOREIGN)
    run.audio(12.0, connection=1, marks=[MarkRun(OWN, 1, 0, 5)], response_id="r1")
    assert result_of(Audio, run.history()).findings[0].text == "c000-0000 heard voice 11, its own is 22"


def test_a_run_without_marked_audio_is_unknown(run: Run) -> None:
    run.audio(5.0, marks=[], samples=0)
    assert result_of(Audio, run.history()).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("pipeline", [edited(PIPELINE_YAML, model="{kind: released, name: some/model}"), EXTERNAL_YAML])
def test_a_checkpoint_without_marks_is_not_judged(tmp_path: Path, pipeline: str) -> None:
    run = Run(tmp_path / "run", pipeline=pipeline)
    result = result_of(Audio, run.history())
    assert result.verdict is Verdict.PASS
    assert result.summary.startswith("not applicable")


def test_a_golden_server_marks_its_audio_too(tmp_path: Path) -> None:
    run = Run(tmp_path / "golden", pipeline=GOLDEN_YAML)
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5, voice=OWN)
    hear(run, 5.0, 0, 25, voice=FOREIGN)
    assert result_of(Audio, run.history()).verdict is Verdict.FAIL
