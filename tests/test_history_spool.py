"""A producer's journal may be there twice, as collected and as its spool: what is whole in one copy is whole."""

from pathlib import Path

from rig.history import SPOOL_DIR, History
from tests.builders import CALLERS, RIG, Run


def calls_of(history: History) -> int:
    return sum(len(calls) for calls in history.calls())


def run_with_calls(folder: Path) -> tuple[Run, Path, Path]:
    """A finished run whose callers' journal is the spool as well; the third is the copy under events/."""
    run = Run(folder)
    for number in range(5):
        run.start_call(2.0 + number, f"c000-{number:04d}")
    run.stop()
    assert calls_of(run.history()) == 5
    (folder / SPOOL_DIR).mkdir()
    copy = run.path(CALLERS)
    spool = folder / SPOOL_DIR / copy.name
    spool.write_bytes(copy.read_bytes())
    return run, spool, copy


def test_a_short_copy_is_completed_from_the_spool(tmp_path: Path) -> None:
    run, spool, copy = run_with_calls(tmp_path / "run")
    copy.write_bytes(spool.read_bytes()[:400])
    history = run.history()
    assert calls_of(history) == 5
    assert [(damage.missing, damage.bad_lines, damage.closed) for damage in history.damage] == [(0, (), True)] * 2


def test_two_equal_copies_count_every_event_once(tmp_path: Path) -> None:
    run, _, _ = run_with_calls(tmp_path / "run")
    history = run.history()
    assert [header.producer for header in history.headers].count(CALLERS) == 1
    assert len(history.events) == len({(type(event), event.seq, event.t_ns) for event in history.events})


def test_a_spool_without_a_copy_is_read(tmp_path: Path) -> None:
    run, _, copy = run_with_calls(tmp_path / "run")
    copy.unlink()
    assert calls_of(run.history()) == 5


def test_a_copy_that_is_still_empty_does_not_hide_the_spool(tmp_path: Path) -> None:
    run, _, copy = run_with_calls(tmp_path / "run")
    copy.write_bytes(b"")
    history = run.history()
    assert history.unreadable == ()
    assert calls_of(history) == 5


def test_copies_of_different_writers_are_told_and_not_mixed(tmp_path: Path) -> None:
    run, spool, _ = run_with_calls(tmp_path / "run")
    spool.write_bytes(run.path(RIG).read_bytes())
    (told,) = run.history().unreadable
    assert "are journals of different writers" in told
