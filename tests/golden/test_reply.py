"""A reply's chunks are due at fixed times; a stop ends it, and what was due until then still goes out."""

from rig.clock import NS_PER_MS
from rig.config.pipeline import Golden
from rig.golden import wire
from rig.golden.reply import Reply
from rig.golden.voice import make_plan
from rig.golden.wire import Outgoing

SETTINGS = Golden(first_audio_ms=100, chunk_ms=200, pace_ms=50)


def ms(value: int) -> int:
    return value * NS_PER_MS


def reply() -> Reply:
    """Three chunks, due 100, 150 and 200 ms after it was asked for at 0."""
    plan = make_plan(1, 7, 1, 0, reply_s=0.6, spread=0.0, chunk_ms=200)
    return Reply("r", plan, SETTINGS, 0, 1)


def shown(events: list[Outgoing]) -> list[tuple[str, int | None]]:
    """Chunks by index and the terminal event, with when they were planned, in milliseconds."""
    return [
        (
            str(event.index) if event.is_audio else "done",
            None if event.planned_ns is None else event.planned_ns // ms(1),
        )
        for event in events
        if event.is_audio or event.kind == wire.DONE
    ]


def test_nothing_comes_before_its_time() -> None:
    one = reply()
    assert one.due_ns == ms(100)
    assert one.step(ms(100) - 1) == []
    assert shown(one.step(ms(100))) == [("0", 100)]
    assert one.due_ns == ms(150)


def test_what_is_late_comes_at_once_with_the_time_it_was_planned_for() -> None:
    one = reply()
    assert shown(one.step(ms(500))) == [("0", 100), ("1", 150), ("2", 200), ("done", 200)]
    assert one.due_ns is None


def test_a_stop_lets_through_what_is_due_before_the_terminal_event() -> None:
    one = reply()
    one.step(ms(100))
    one.stop(ms(140), "client_cancelled", 15)
    assert one.due_ns == ms(150)
    events = one.step(ms(300))
    assert shown(events) == [("1", 150), ("done", 155)]
    (done,) = [event for event in events if event.kind == wire.DONE]
    assert done.fields["response"]["status_details"] == {  # type: ignore[index]
        "type": "cancelled",
        "reason": "client_cancelled",
    }


def test_the_first_stop_counts() -> None:
    one = reply()
    one.stop(ms(10), "client_cancelled", 15)
    one.stop(ms(11), "turn_detected", 500)
    assert one.stop_asked_ns == ms(10)
    assert one.due_ns == ms(25)


def test_a_later_stop_can_only_hasten_the_end() -> None:
    one = reply()
    one.stop(ms(10), "turn_detected", 50)
    one.stop(ms(20), "client_cancelled", 0)
    assert (one.stop_asked_ns, one.due_ns) == (ms(10), ms(20))


def test_a_reply_that_never_sounded_has_no_sound_to_end() -> None:
    one = reply()
    one.stop(0, "turn_detected", 0)
    kinds = [event.kind for event in one.step(0)]
    assert "response.output_audio.done" not in kinds
    assert kinds[-2:] == ["response.done", "rate_limits.updated"]
