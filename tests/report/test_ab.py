"""report.md of a comparison: the decision on top, both sides, every run, and what it cannot show."""

from pathlib import Path

import msgspec
import pytest

from rig.compare.facts import Facts
from rig.compare.record import Made, Record, SideName
from rig.errors import RigError
from rig.report import ab
from tests.compare.runs import dead, passed, waiting


def made(pair: int, side: SideName, facts: Facts, **changes: object) -> Made:
    run = Made(f"../run-{pair}{side}", pair, side, 7 + pair, 1, reused=False, wall_s=9.0, facts=facts)
    return msgspec.structs.replace(run, **changes)


def page(a: Facts, b: Facts, pairs: int, **changes: object) -> str:
    runs = tuple(run for pair in range(pairs) for run in (made(pair, "a", a), made(pair, "b", b, **changes)))
    record = Record("x-ab", "Which?", "run.yaml", "p.yaml", "golden", "none", "fix", (), pairs, 7, runs, "as planned")
    return ab.render(record.compared())


def test_it_begins_with_the_decision_and_ends_with_every_run() -> None:
    text = page(dead(12.0), passed(), 6)
    assert text.startswith("# better: B lives; deaths: 6 of 6 runs on A, 0 of 6 runs on B")
    assert text.count("](../run-") == 12
    assert "| cause of death | 6 x thinker: KeyError in _update_after_schedule | none |" in text
    assert "| first death after load start | 12.0 s (12.0 to 12.0) | - |" in text
    assert "| runs with a death | 6 of 6 (54% to 100%) | 0 of 6 (0% to 46%) |" in text


def test_slots_that_nobody_probed_are_not_zero_slots_missing() -> None:
    unprobed, probed = passed(lost_slots=None), passed(lost_slots=0)
    assert "| slots missing, at most | - | 0 |" in page(unprobed, probed, 2)


def test_latencies_have_their_interval_and_its_width_or_say_that_there_is_none() -> None:
    assert "| first_audio | 8 | 1.50 (1.50 to 1.50) | 0 % |" in page(waiting(100.0), waiting(150.0), 8)
    assert "1.50 (no interval; pairs from 1.50 to 1.50)" in page(waiting(100.0), waiting(150.0), 2)


def test_reuse_and_what_happened_after_a_run_are_told() -> None:
    text = page(passed(), passed(), 1, reused=True, after="pids 3 of the server died", died_after=1)
    assert "| 1, reused |" in text
    assert "after the run pids 3 of the server died" in text


def test_a_comparison_that_ended_early_says_so(tmp_path: Path) -> None:
    record = Record("x", "Which?", "r", "p", "golden", "none", "fix", ("bug",), 6, 7, (), "stopped by the user")
    ab.write(tmp_path, record.compared())
    text = (tmp_path / ab.REPORT_FILE).read_text()
    assert "0 of 6 pairs are compared" in text
    assert "The comparison is not whole: stopped by the user." in text
    assert "Put into both sides: `bug`; this server was broken on purpose" in text


def test_the_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    record = Record("x", "Which?", "r", "p", "golden", "none", "fix", (), 6, 7).compared()
    (tmp_path / ab.REPORT_FILE).mkdir()
    with pytest.raises(RigError, match=f"cannot write {tmp_path / ab.REPORT_FILE}: "):
        ab.write(tmp_path, record)
    assert list(tmp_path.glob(".*")) == []
