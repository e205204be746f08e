"""First audio: from the end of the caller's speech to the first sound of the answer."""

from rig.events.types import TurnEnded, UtteranceEnded
from rig.history import Call, History
from rig.measure.figure import Measure

EXPECTED_TURNS = "mean planned turn interval of the caller: pauses, speech and the least of a reply"


class AnswerLatency(Measure):
    """Base: from the planned end of each speech to when its answer came, by (connection, turn)."""

    expected_interval = EXPECTED_TURNS

    def __init__(self, history: History) -> None:
        super().__init__(history)
        self._interval_ns = history.plan.turn_intervals_ns()

    def answers(self, call: Call) -> dict[tuple[int, int], int]:
        """When each (connection, turn) was answered."""
        raise NotImplementedError

    def see(self, call: Call) -> None:
        """Every turn of the call that was spoken to its end."""
        answered = self.answers(call)
        interval_ns = self._interval_ns.get(call.start.caller, 0)
        for spoken in call.of(UtteranceEnded):
            heard_ns = answered.get((spoken.connection, spoken.turn))
            if heard_ns is None:
                self.miss(_why_not(call, spoken.turn))
            elif heard_ns < spoken.planned_ns:
                self.miss("answered while the caller still spoke")
            else:
                self.add(call, heard_ns, heard_ns - spoken.planned_ns, interval_ns, of=spoken)


class FirstAudio(AnswerLatency):
    """One value per turn that was spoken to its end and answered."""

    name = "first_audio"
    measurement_origin = "planned end of the caller's last speech frame to first audio delta read"

    def answers(self, call: Call) -> dict[tuple[int, int], int]:
        """The first sound of each turn."""
        first: dict[tuple[int, int], int] = {}
        for (connection, _), reply in call.replies.items():
            place = connection, reply[0].turn
            first[place] = min(first.get(place, reply[0].t_ns), reply[0].t_ns)
        return first


def _why_not(call: Call, turn: int) -> str:
    ended = next((event for event in call.of(TurnEnded) if event.turn == turn), None)
    return "turn not ended" if ended is None else f"turn {ended.outcome}"
