"""What Locust's live view is told."""

from typing import Any

import pytest

from clients.live import LiveJournal, three_figures
from rig.clock import NS_PER_MS
from rig.events import types as ev


class Nowhere:
    """A journal that keeps nothing."""

    def record(self, kind: type[ev.Event], *, t_ns: int | None = None, **fields: Any) -> None:
        """Forget it."""


class View:
    """A live journal and the rows it made."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str, float | None, str | None]] = []
        self.journal = LiveJournal(Nowhere(), self.row)

    def row(
        self, *, request_type: str, name: str, response_time: float | None, exception: Exception | None, **_: Any
    ) -> None:
        """Locust hears of a request."""
        self.rows.append((request_type, name, response_time, None if exception is None else str(exception)))

    def saw(self, kind: type[ev.Event], at_ms: int, **fields: Any) -> None:
        """Something happened in a call."""
        self.journal.record(kind, t_ns=at_ms * NS_PER_MS, **fields)

    def connected(self, why: ev.Connect, planned_ms: int, ready_ms: int) -> None:
        """The call got a session."""
        self.saw(ev.ConnectStarted, planned_ms, why=why, attempt=1, planned_ns=planned_ms * NS_PER_MS)
        self.saw(ev.SessionReady, ready_ms, resumed=why is ev.Connect.RESUME)

    def spoke(self, turn: int, planned_ms: int) -> None:
        """The caller said something."""
        self.saw(ev.UtteranceEnded, planned_ms + 1, turn=turn, planned_ns=planned_ms * NS_PER_MS)


def test_a_turn_shows_its_first_audio_its_gaps_and_its_length() -> None:
    view = View()
    view.connected(ev.Connect.FIRST, 10, 30)
    view.spoke(0, 1_000)
    for at_ms in (1_500, 1_700):
        view.saw(ev.AudioReceived, at_ms, response_id="r1")
    view.saw(ev.TurnEnded, 1_800, turn=0, outcome=ev.Outcome.DONE)
    assert view.rows == [
        ("WS", "connect", 20.0, None),
        ("WSR", "first_audio", 500.0, None),
        ("WSR", "chunk_gap", 200.0, None),
        ("WSR", "turn", 800.0, None),
    ]


def test_a_barge_in_shows_how_long_the_reply_went_on() -> None:
    view = View()
    planned_ns = 100 * NS_PER_MS
    view.saw(ev.ActTaken, 101, turn=0, act=ev.Act.BARGE_IN_CANCEL, planned_ns=planned_ns)
    for at_ms in (150, 190):
        view.saw(ev.ServerEvent, at_ms, turn=0, name="response.done", detail="cancelled: client_cancelled")
    assert view.rows == [("WSR", "barge_in_stop_cancel", 50.0, None)]


def test_a_reply_that_ended_by_itself_shows_no_barge_in() -> None:
    view = View()
    view.saw(ev.ActTaken, 101, turn=0, act=ev.Act.BARGE_IN_CANCEL, planned_ns=100 * NS_PER_MS)
    view.saw(ev.ServerEvent, 101, turn=0, name="response.done", detail="completed: stop")
    assert view.rows == []


def test_a_caller_who_comes_back_and_speaks_is_shown_only_the_waiting() -> None:
    view = View()
    view.connected(ev.Connect.NEW_SESSION, 100, 150)
    view.spoke(1, 2_150)
    view.saw(ev.AudioReceived, 2_650, response_id="r1")
    assert ("WSR", "reconnect_first_audio_new", 550.0, None) in view.rows


def test_a_return_shows_the_time_from_reconnect_to_first_audio() -> None:
    view = View()
    view.connected(ev.Connect.RESUME, 100, 150)
    view.saw(ev.AudioReceived, 400, response_id="r1")
    assert view.rows[1:] == [("WSR", "reconnect_first_audio_resumed", 300.0, None)]


@pytest.mark.parametrize("outcome", [ev.Outcome.NO_REPLY, ev.Outcome.NO_END, ev.Outcome.LOST])
def test_a_turn_that_went_wrong_is_a_failure_with_the_time_waited(outcome: ev.Outcome) -> None:
    view = View()
    view.spoke(0, 1_000)
    view.saw(ev.TurnEnded, 3_000, turn=0, outcome=outcome)
    assert view.rows == [("WSR", "turn", 2_000.0, f"turn {outcome}")]


def test_what_has_no_duration_is_never_shown_as_0() -> None:
    view = View()
    view.saw(ev.TurnEnded, 3_000, turn=0, outcome=ev.Outcome.LOST)
    view.saw(ev.TurnEnded, 3_000, turn=1, outcome=ev.Outcome.ABANDONED)
    assert view.rows == [("WSR", "turn", None, "turn lost")]


@pytest.mark.parametrize(
    ("value", "bucket"), [(0.4, 0), (99.6, 100), (147, 147), (1103.4, 1100), (1106, 1110), (13_340, 13_300)]
)
def test_waits_keep_three_figures(value: float, bucket: int) -> None:
    assert three_figures(value) == bucket
