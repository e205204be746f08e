"""GET /health at a fixed rhythm."""

import asyncio
from collections.abc import Callable

from rig.clock import from_s, monotonic_ns, to_s
from rig.events.journal import Journal
from rig.events.types import HealthProbed
from rig.pipeline import probe

TIMEOUT_S = 5.0


async def sample_health(url: str, journal: Journal, interval_s: float, stop_asked: Callable[[], bool]) -> None:
    """Ask until cancelled, or until the server is asked to stop: from then on it is right not to be healthy.

    A server that does not answer costs TIMEOUT_S, then it is asked again.
    """
    due_ns = monotonic_ns()
    while True:
        begin_ns = monotonic_ns()
        answer = await probe.health(url, TIMEOUT_S)
        if stop_asked():
            return
        journal.record(
            HealthProbed,
            t_ns=begin_ns,
            status=answer.status,
            latency_ns=answer.latency_ns,
            error=answer.error,
        )
        # Beats that fell into a slow answer are left out, not made up for.
        due_ns = max(due_ns + from_s(interval_s), monotonic_ns())
        await asyncio.sleep(to_s(due_ns - monotonic_ns()))
