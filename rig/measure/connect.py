"""Connect: how long a caller waits until the server has a session for them."""

from rig.events.types import ConnectFailed, ConnectionClosed, ConnectStarted, Refused, SessionReady
from rig.history import Call
from rig.measure.figure import Measure


class Connect(Measure):
    """One value per connection that got a session."""

    name = "connect"
    measurement_origin = "planned start of the TCP connect to session.created or session.resumed read"

    def see(self, call: Call) -> None:
        """Every connect of the call."""
        ready: dict[int, int] = {}
        for event in call.of(SessionReady):
            ready.setdefault(event.connection, event.t_ns)
        for start in call.of(ConnectStarted):
            if start.connection in ready:
                self.add(call, ready[start.connection], ready[start.connection] - start.planned_ns, of=start)
            else:
                self.miss(_why_not(call, start.connection))


def _why_not(call: Call, connection: int) -> str:
    if any(event.connection == connection for event in call.of(Refused)):
        return "refused"
    if any(event.connection == connection for event in call.of(ConnectFailed)):
        return "no connection"
    if any(event.connection == connection for event in call.of(ConnectionClosed)):
        return "closed before session.created"
    return "run ended first"
