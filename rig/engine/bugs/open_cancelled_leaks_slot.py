"""A session whose open is cancelled keeps its admission slot."""

import sys
from asyncio import CancelledError
from typing import TYPE_CHECKING

from rig.engine.patches.patch import Bug, Change, Kind
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm_omni.engine.duplex.messages import CloseDuplexSessionMessage
    from vllm_omni.engine.duplex.session.manager import DuplexSessionManager

teller = Teller("open_cancelled_leaks_slot", kind=Kind.BUG)


def apply() -> None:
    """Roll nothing back when an open is cancelled, and forget a close that comes while it goes on."""
    from vllm_omni.engine.duplex.session.manager import DuplexSessionManager

    wrap(DuplexSessionManager, "_rollback_open", _not_when_cancelled)
    wrap(DuplexSessionManager, "close", _forgetting)


def _not_when_cancelled(original: Method) -> Method:
    """`except Exception` does not see a CancelledError."""

    async def _rollback_open(self: "DuplexSessionManager", session_id: str, **parts: object) -> None:
        if isinstance(sys.exc_info()[1], CancelledError):
            teller.tell(f"the open of {session_id} was cancelled and is not rolled back")
            return
        await original(self, session_id, **parts)

    return _rollback_open


def _forgetting(original: Method) -> Method:
    async def close(self: "DuplexSessionManager", message: "CloseDuplexSessionMessage") -> None:
        await original(self, message)
        if message.session_id in self._abandoned_opens:
            self._abandoned_opens.discard(message.session_id)
            teller.tell(f"{message.session_id} was closed while it was being opened, and will be open all the same")

    return close


BUG = Bug(
    name="open_cancelled_leaks_slot",
    summary="a session whose open is given up half-way leaves its admission slot taken",
    explanation="""\
The open of a session has taken an admission slot when it is cancelled. A CancelledError is no Exception, so that the
branch that rolls back did not run; and a close that came while the open went on was forgotten. The session is there and
belongs to nobody. After `max_sessions` of them every open is refused with `duplex_session_capacity_exhausted`, until
the idle time of 300 s is over. Hanging up does not cancel an open, because the server reads on only when that is done;
its time limit of 10 s does, and so does the end of the server's task. Acts in the API server.""",
    provoked_by="an open that takes so long that its caller is given up, `max_sessions` times; not by hanging up alone",
    upstream=("vllm-omni#7785",),
    versions={"vllm-omni": "0.30.0"},
    changes=(
        Change(
            "vllm_omni.engine.duplex.session.manager:DuplexSessionManager._rollback_open",
            "d6f5148676d73b1b2f78434254a5afc3774d011737166bf52423a9b7c51668f7",
        ),
        Change(
            "vllm_omni.engine.duplex.session.manager:DuplexSessionManager.close",
            "0387e4fc244653b7e17f0a3f0653a8fe4aa26a47a9df80aebfed23b6ae6a905f",
        ),
    ),
    apply=apply,
)
