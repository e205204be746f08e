"""Connect: how long a caller waits until the server has a session for them."""

from rig.events.types import ConnectFailed, ConnectionClosed, ConnectStarted, Refused, SessionReady
from rig.history import History
from rig.measure.figure import Measured


def measure(history: History) -> Measured:
    """One value per connection that got a session."""
    measured = Measured("connect", "planned start of the TCP connect to session.created or session.resumed read")
    for call in history.calls.values():
        for start in call.of(ConnectStarted):
            same = [event for event in call.events if event.connection == start.connection]
            ready = next((event for event in same if isinstance(event, SessionReady)), None)
            if ready is not None:
                measured.values_ns.append(ready.t_ns - start.planned_ns)
            elif any(isinstance(event, Refused) for event in same):
                measured.unavailable["refused"] += 1
            elif any(isinstance(event, ConnectFailed) for event in same):
                measured.unavailable["no connection"] += 1
            elif any(isinstance(event, ConnectionClosed) for event in same):
                measured.unavailable["closed before session.created"] += 1
            else:
                measured.unavailable["run ended first"] += 1
    return measured
