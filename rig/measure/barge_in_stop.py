"""Barge-in stop: how long an interrupted reply goes on, for speech (server VAD) and for response.cancel apart."""

from typing import ClassVar

from rig.events.types import Act, ActTaken, AudioReceived, ServerEvent
from rig.history import Call
from rig.measure.figure import Measure

TERMINAL_EVENTS = frozenset({"response.done", "response.cancelled"})


class _BargeInStop(Measure):
    """One value per act that cut a reply."""

    act: ClassVar[Act]

    def see(self, call: Call) -> None:
        """Every act of this kind in the call."""
        for taken in call.of(ActTaken):
            if taken.act is self.act:
                self._see_act(call, taken)

    def _see_act(self, call: Call, taken: ActTaken) -> None:
        terminal = next(
            (
                event
                for event in call.of(ServerEvent)
                if event.turn == taken.turn and event.name in TERMINAL_EVENTS and event.t_ns >= taken.t_ns
            ),
            None,
        )
        if terminal is None:
            self.measured.unavailable["no terminal event"] += 1
        elif terminal.detail.startswith("completed"):
            self.measured.unavailable["reply had ended by itself"] += 1
        else:
            stale = [audio.t_ns for audio in call.of(AudioReceived) if audio.turn == taken.turn]
            self.measured.values_ns.append(max([terminal.t_ns, *stale]) - taken.planned_ns)


class BargeInStopSpeech(_BargeInStop):
    """Onset of the interrupting speech to the end of the reply: includes the VAD's confirmation."""

    name = "barge_in_stop_speech"
    measurement_origin = "first interrupting speech frame due to terminal event or last audio of that reply, the later"
    act = Act.BARGE_IN_SPEECH


class BargeInStopCancel(_BargeInStop):
    """Edge of response.cancel to the end of the reply."""

    name = "barge_in_stop_cancel"
    measurement_origin = "response.cancel due to terminal event or last audio of that reply, the later"
    act = Act.BARGE_IN_CANCEL
