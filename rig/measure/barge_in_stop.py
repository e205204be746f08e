"""Barge-in stop: how long an interrupted reply goes on, for speech (server VAD) and for response.cancel apart."""

from typing import ClassVar

from rig.events.types import Act, ActTaken, AudioReceived, ServerEvent
from rig.history import Call
from rig.measure.figure import Measure

TERMINAL_EVENTS = ("response.done", "response.cancelled")


class BargeInStop(Measure):
    """One value per act that cut a reply."""

    act: ClassVar[Act]

    def see(self, call: Call) -> None:
        """Every act of this kind in the call."""
        for taken in call.of(ActTaken):
            if taken.act is self.act:
                self._see_act(call, taken)

    def _see_act(self, call: Call, taken: ActTaken) -> None:
        terminal = end_of_interrupted(call, taken)
        if terminal is None:
            self.miss("no terminal event")
        elif terminal.detail.startswith("completed"):
            self.miss("reply had ended by itself")
        else:
            stale = (audio.t_ns for audio in call.of(AudioReceived) if _is_of(audio, terminal))
            stopped_ns = max([terminal.t_ns, *stale])
            self.add(call, stopped_ns, stopped_ns - taken.planned_ns, of=taken)


class BargeInStopSpeech(BargeInStop):
    """Onset of the interrupting speech to the end of the reply: includes the VAD's confirmation."""

    name = "barge_in_stop_speech"
    measurement_origin = "first interrupting speech frame due to terminal event or last audio of that reply, the later"
    act = Act.BARGE_IN_SPEECH


class BargeInStopCancel(BargeInStop):
    """Edge of response.cancel to the end of the reply."""

    name = "barge_in_stop_cancel"
    measurement_origin = "response.cancel due to terminal event or last audio of that reply, the later"
    act = Act.BARGE_IN_CANCEL


def end_of_interrupted(call: Call, taken: ActTaken) -> ServerEvent | None:
    """The terminal event, after the act, of the reply that the caller was hearing then."""
    heard = None
    for audio in call.of(AudioReceived):
        if audio.t_ns > taken.t_ns:
            break
        if audio.turn == taken.turn:
            heard = audio.response_id
    ends = (event for name in TERMINAL_EVENTS for event in call.said(name) if event.t_ns >= taken.t_ns)
    # Two responses may answer one turn: only the one that was heard was interrupted.
    mine = [event for event in ends if (event.turn == taken.turn if heard is None else event.response_id == heard)]
    return min(mine, key=lambda event: event.t_ns, default=None)


def _is_of(audio: AudioReceived, terminal: ServerEvent) -> bool:
    if terminal.response_id is None:
        return audio.turn == terminal.turn
    return audio.response_id == terminal.response_id
