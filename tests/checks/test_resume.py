"""Resume: numbers go on without gap and repeat, the generation goes up by one, and within grace it is never refused.

The pipeline of these tests has a grace of 30 s.
"""

from pathlib import Path

import pytest

from rig.checks.resume import Resume
from rig.events.types import Connect
from rig.fold import result_of
from rig.verdict import CheckResult, Verdict
from tests.builders import EXTERNAL_YAML, Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A session with the events 1 and 2, whose connection was dropped at 10 s."""
    run = Run(tmp_path / "run")
    begin(run)
    return run


def begin(run: Run) -> None:
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5)
    run.server_says(3.0, "session.updated", server_seq=1)
    run.audio(4.0, server_seq=2)
    run.close(10.0)


def resume(run: Run, *, at_s: float = 11.0, generation: int | None = 2) -> None:
    run.connect(at_s, connection=1, why=Connect.RESUME, ready_s=at_s + 0.5, resumed=True, generation=generation)


def refuse(run: Run, at_s: float, code: str) -> None:
    run.connect(at_s - 0.5, connection=1, why=Connect.RESUME)
    run.refuse(at_s, "c000-0000", connection=1, code=code)


def judged(run: Run) -> CheckResult:
    return result_of(Resume, run.history())


def told(run: Run) -> str:
    """The one finding of a run that fails."""
    result = judged(run)
    assert (result.verdict, len(result.findings)) == (Verdict.FAIL, 1)
    return result.findings[0].text


def test_a_session_that_goes_on_where_it_was_passes(run: Run) -> None:
    resume(run)
    run.server_says(12.0, "response.speak", connection=1, server_seq=3)
    run.audio(12.1, connection=1, server_seq=4)
    result = judged(run)
    assert (result.verdict, result.summary) == (Verdict.PASS, "1 resumes, 4 numbered events: no gap, no repeat")


def test_an_event_that_is_missing_after_a_resume_fails(run: Run) -> None:
    resume(run)
    run.audio(12.0, connection=1, server_seq=5)
    assert told(run) == "c000-0000: event 3 to 4 is missing right after a resume: audio is 5"


def test_an_event_that_comes_again_after_a_resume_fails(run: Run) -> None:
    resume(run)
    run.server_says(12.0, "response.speak", connection=1, server_seq=2)
    assert told(run) == "c000-0000: number 2 came again right after a resume: response.speak, due was 3"


def test_a_gap_without_a_resume_fails_too(run: Run) -> None:
    run.server_says(5.0, "response.speak", server_seq=4)
    assert told(run) == "c000-0000: event 3 is missing: response.speak is 4"


def test_one_gap_is_one_finding(run: Run) -> None:
    resume(run)
    for seq in (4, 5, 6):
        run.audio(12.0, connection=1, server_seq=seq)
    assert len(judged(run).findings) == 1


def test_numbers_begin_with_one(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5)
    run.server_says(3.0, "session.updated", server_seq=2)
    assert told(run) == "c000-0000: event 1 is missing: session.updated is 2"


@pytest.mark.parametrize("name", ["session.resumed", "error", "session.replaced"])
def test_what_the_transport_says_has_no_number(run: Run, name: str) -> None:
    run.server_says(5.0, name)
    assert judged(run).verdict is Verdict.PASS


def test_an_event_of_the_session_without_a_number_fails(run: Run) -> None:
    run.audio(5.0)
    assert told(run) == "c000-0000: audio without a number after 2"


def test_after_an_overflow_the_session_goes_on_without_numbers(run: Run) -> None:
    run.server_says(5.0, "session.resync_required", "journal_overflow")
    run.audio(5.1)
    result = judged(run)
    assert result.verdict is Verdict.PASS
    assert result.summary.endswith("1 sessions had to begin anew (resync_required)")


@pytest.mark.parametrize(
    ("generation", "due"), [pytest.param(1, "due was 2", id="not raised"), pytest.param(3, "due was 2", id="by two")]
)
def test_a_generation_that_did_not_go_up_by_one_fails(run: Run, generation: int, due: str) -> None:
    resume(run, generation=generation)
    assert told(run) == f"c000-0000: resumed with generation {generation}, {due}"


def test_an_attempt_that_was_given_up_may_have_raised_the_generation(run: Run) -> None:
    run.connect(10.5, connection=1, why=Connect.RESUME)
    run.connect(11.0, connection=2, why=Connect.RESUME, ready_s=11.5, resumed=True, generation=3)
    assert judged(run).verdict is Verdict.PASS


def test_a_new_session_begins_with_generation_one(run: Run) -> None:
    run.connect(20.0, connection=1, why=Connect.NEW_SESSION, ready_s=20.5, session_id="t", generation=2)
    assert told(run) == "c000-0000: a new session begins with generation 2, not 1"


def test_a_new_session_counts_anew(run: Run) -> None:
    run.connect(20.0, connection=1, why=Connect.NEW_SESSION, ready_s=20.5, session_id="t")
    run.server_says(21.0, "session.updated", connection=1, server_seq=1)
    assert judged(run).verdict is Verdict.PASS


@pytest.mark.parametrize("code", ["session_resume_expired", "invalid_resume_token", "resource_exhausted"])
def test_a_resume_that_is_refused_within_the_grace_fails(run: Run, code: str) -> None:
    refuse(run, 39.5, code)
    assert told(run) == f"c000-0000: a resume was refused ({code}) 29.50 s after the drop, within the grace of 30 s"


def test_a_resume_that_comes_after_the_grace_may_be_refused(run: Run) -> None:
    refuse(run, 40.5, "session_resume_expired")
    assert judged(run).summary.endswith("1 resumes came after the grace")


def test_a_resume_that_has_to_begin_anew_is_counted_apart(run: Run) -> None:
    run.server_says(11.0, "session.resync_required", "journal_gap", connection=1)
    refuse(run, 11.0, "resync_required")
    result = judged(run)
    assert result.verdict is Verdict.PASS
    assert result.summary.endswith("1 sessions had to begin anew (resync_required)")


def test_a_refused_resume_of_a_server_of_unknown_limits_is_unknown(tmp_path: Path) -> None:
    run = Run(tmp_path / "run", pipeline=EXTERNAL_YAML)
    begin(run)
    refuse(run, 11.0, "session_resume_expired")
    assert judged(run).verdict is Verdict.UNKNOWN


def test_a_server_that_numbers_nothing_is_not_judged(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    run.start_call(2.0)
    run.connect(2.0, ready_s=2.5, generation=None)
    run.audio(4.0)
    assert (judged(run).verdict, judged(run).summary) == (Verdict.PASS, "not judged: this server numbers no events")


def test_a_gap_is_unknown_where_events_are_lost(run: Run) -> None:
    run.server_says(5.0, "response.speak", server_seq=3)
    run.server_says(6.0, "response.speak", server_seq=4)
    lines = run.path("callers").read_bytes().splitlines(keepends=True)
    run.path("callers").write_bytes(b"".join([*lines[:-2], lines[-1]]))
    assert result_of(Resume, run.history(closed=False)).verdict is Verdict.UNKNOWN


def test_a_run_without_a_session_is_unknown(tmp_path: Path) -> None:
    assert judged(Run(tmp_path / "run")).verdict is Verdict.UNKNOWN
