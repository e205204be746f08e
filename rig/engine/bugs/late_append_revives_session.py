"""Sound that comes for a session which is closed opens it again, with nobody on the line."""

from copy import deepcopy
from typing import TYPE_CHECKING

from rig.engine.patches.patch import Bug, Change, Kind
from rig.engine.patches.telling import Teller
from rig.engine.patches.wrapping import Method, wrap

if TYPE_CHECKING:
    from vllm_omni.engine.duplex.messages import DuplexSessionCommandMessage, OpenDuplexSessionMessage
    from vllm_omni.engine.duplex.session.manager import DuplexSessionManager

teller = Teller("late_append_revives_session", kind=Kind.BUG)

_OPENED = "_rig_opened"

KEPT_CLOSED = 16
"""Of so many sessions that are closed it is known how they were opened: late sound follows a close at once."""


def apply() -> None:
    """Remember how each session was opened, and open it again for late sound."""
    from vllm_omni.engine.duplex.session.manager import DuplexSessionManager

    wrap(DuplexSessionManager, "open", _remembering)
    wrap(DuplexSessionManager, "_dispatch_command", _reviving)


def _remembering(original: Method) -> Method:
    async def open_session(self: "DuplexSessionManager", message: "OpenDuplexSessionMessage") -> None:
        opened = vars(self).setdefault(_OPENED, {})
        # A copy: the model's plugin takes the reference voice out of the config.
        opened[message.session_id] = deepcopy(message)
        for session_id in [one for one in opened if one not in self.runners][:-KEPT_CLOSED]:
            del opened[session_id]
        await original(self, message)

    return open_session


def _reviving(original: Method) -> Method:
    """That an append for an unknown session is refused came with the fix."""

    def _dispatch_command(self: "DuplexSessionManager", message: "DuplexSessionCommandMessage") -> None:
        from vllm_omni.engine.duplex.commands import AppendAudio

        session_id = message.session_id
        runner = self.runners.get(session_id)
        opened = vars(self).get(_OPENED, {}).get(session_id)
        late = isinstance(message.command, AppendAudio) and (runner is None or runner.closing)
        if not late or opened is None:
            original(self, message)
            return
        teller.tell(f"{session_id} is closed and gets sound: it is opened again")

        async def open_again() -> None:
            if session_id not in self.runners:
                await self.open(deepcopy(opened))
            original(self, message)

        self._run_control(session_id, f"late-append-{session_id}", open_again)

    return _dispatch_command


BUG = Bug(
    name="late_append_revives_session",
    summary="sound for a session that is closed opens it again: a session without a caller, which keeps its slot",
    explanation="""\
What pumped a caller's sound into the engine outlived the session, and an update for an id that was not known made a new
request for it. Nobody listens to that one and nobody closes it: it keeps an admission slot and a place in every stage
until the idle time of 300 s is over. The release answers such sound with an error. Acts in the API server.""",
    provoked_by="sending sound up to and past the close of the session",
    upstream=("vllm-omni#4271", "vllm-omni#5388"),
    versions={"vllm-omni": "0.30.0"},
    changes=(
        Change(
            "vllm_omni.engine.duplex.session.manager:DuplexSessionManager.open",
            "d5d3e392a20ddc4f117f7aac8b1fde815731450a0fad7b4a4f07ff46eb1ea7f3",
        ),
        Change(
            "vllm_omni.engine.duplex.session.manager:DuplexSessionManager._dispatch_command",
            "34c7a1e543dea933dde95c1c7353a7f585c5c8dac1c79bcabc008cf8dad7ff2d",
        ),
    ),
    apply=apply,
)
