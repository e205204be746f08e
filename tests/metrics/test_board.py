"""Boards: counters, gauges and histograms by the catalogue, and the text they become."""

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics

from rig.metrics.board import Board, Buckets, families, openmetrics_text
from tests.metrics.text import samples_of, series


def test_counters_add_up_and_gauges_keep_the_last_value() -> None:
    board = Board()
    board.count("rig_turns", "polite", "done")
    board.count("rig_turns", "polite", "done", by=2)
    board.set("rig_callers", 4)
    board.set("rig_callers", 3)
    assert samples_of(families([board])) == {
        series("rig_turns_total", scenario="polite", outcome="done"): 3,
        "rig_callers": 3,
    }
    assert board.total("rig_turns") == 3


def test_an_edge_belongs_to_its_bucket() -> None:
    board = Board()
    for value in (0.001, 0.0011, 61.0):
        board.observe("rig_schedule_delay_seconds", value, "polite")
    found = samples_of(families([board]))
    buckets = {le: found[series("rig_schedule_delay_seconds_bucket", scenario="polite", le=le)] for le in EDGES}
    assert list(buckets.values()) == [1, 2, 2, 3]
    assert found[series("rig_schedule_delay_seconds_count", scenario="polite")] == 3
    assert found[series("rig_schedule_delay_seconds_sum", scenario="polite")] == pytest.approx(61.0021)


EDGES = ("0.001", "0.005", "60.0", "+Inf")


def test_boards_are_put_together_and_what_has_no_value_is_absent() -> None:
    first, second = Board(), Board()
    first.count("rig_calls_started", "polite", by=0)
    second.count("rig_calls_started", "hang_up")
    assert samples_of(families([first, second])) == {
        series("rig_calls_started_total", scenario="polite"): 0,
        series("rig_calls_started_total", scenario="hang_up"): 1,
    }
    assert families([Board()]) == []


def test_a_name_that_is_not_in_the_catalogue_or_wrong_labels_are_errors() -> None:
    with pytest.raises(KeyError):
        Board().count("rig_nothing")
    with pytest.raises(ValueError, match="has the labels"):
        Board().count("rig_turns", "polite")
    with pytest.raises(AssertionError):
        Board().put("rig_schedule_delay_seconds", Buckets([1]), "polite")


def test_label_values_are_escaped() -> None:
    board = Board()
    board.count("rig_refusals", "polite", 'odd "code"\n\\')
    assert list(samples_of(families([board]))) == [
        series("rig_refusals_total", scenario="polite", code='odd "code"\n\\'),
    ]


def test_openmetrics_can_have_a_time_on_every_sample() -> None:
    board = Board()
    board.set("rig_callers", 1)
    board.observe("rig_schedule_delay_seconds", 1.0, "polite")
    text = openmetrics_text(families([board]), 1_700_000_000.5).decode()
    times = {
        float(sample.timestamp)
        for family in parse_openmetrics(text)  # type: ignore[no-untyped-call]
        for sample in family.samples
    }
    assert times == {1_700_000_000.5}
