"""Reconnect to first audio: how long a caller who hung up and came back waits, by the way of coming back.

Only the waiting counts: what the returning caller spends on thinking and speaking is taken out.
"""

from typing import ClassVar

from rig.events.types import (
    AudioReceived,
    CallEvent,
    Connect,
    ConnectStarted,
    SessionReady,
    UtteranceEnded,
    UtteranceStarted,
)
from rig.history import Call
from rig.measure.figure import Measure

_ORIGIN = (
    "planned reconnect to session ready, plus, when the caller had to speak again, "
    "planned end of speech to first audio delta read"
)


class _Reconnect(Measure):
    """One value per caller who hung up, came back and was heard."""

    measurement_origin = _ORIGIN
    resumed: ClassVar[bool]

    def see(self, call: Call) -> None:
        """The return of the call, if there was one."""
        started = [event for event in call.of(ConnectStarted) if event.why is not Connect.FIRST]
        if not started:
            return
        ready = next((event for event in call.of(SessionReady) if event.connection >= started[0].connection), None)
        if ready is None:
            if (started[-1].why is Connect.RESUME) is self.resumed:
                self.miss("no session")
        elif ready.resumed is self.resumed:
            self._see_return(call, started[0], ready)

    def _see_return(self, call: Call, started: ConnectStarted, ready: SessionReady) -> None:
        after: list[CallEvent] = [event for event in call.events if event.connection == ready.connection]
        first = next((event for event in after if isinstance(event, AudioReceived) and event.samples > 0), None)
        if first is None:
            self.miss("no audio after the return")
            return
        spoke = [event for event in after if isinstance(event, UtteranceStarted) and event.t_ns < first.t_ns]
        if not spoke:
            self.add(call, first.t_ns, first.t_ns - started.planned_ns, of=first)
            return
        turn = spoke[-1].turn
        ended = next((event for event in after if isinstance(event, UtteranceEnded) and event.turn == turn), None)
        if ended is None or ended.t_ns > first.t_ns:
            self.miss("answered while the caller still spoke")
            return
        waited_ns = (ready.t_ns - started.planned_ns) + (first.t_ns - ended.planned_ns)
        self.add(call, first.t_ns, waited_ns, of=first)


class ReconnectNew(_Reconnect):
    """Callers who came back with a new session."""

    name = "reconnect_first_audio_new"
    resumed = False


class ReconnectResumed(_Reconnect):
    """Callers who resumed their session."""

    name = "reconnect_first_audio_resumed"
    resumed = True
