"""Rows for Locust's live view, made from the events as they are recorded.

For looking while a run goes; the truth is the journal. What has no duration is shown without one, never as 0.
"""

from typing import Any, Protocol

from rig.clock import monotonic_ns, to_ms
from rig.errors import RigError
from rig.events import types as ev
from rig.events.journal import Recorder

BAD = frozenset({ev.Outcome.LOST, ev.Outcome.NO_REPLY, ev.Outcome.NO_END, ev.Outcome.REFUSED})
BARGE_INS = {ev.Act.BARGE_IN_CANCEL: "barge_in_stop_cancel", ev.Act.BARGE_IN_SPEECH: "barge_in_stop_speech"}
RETURNS = {True: "reconnect_first_audio_resumed", False: "reconnect_first_audio_new"}
"""Rows are called as the figures of the report are."""
TERMINAL = "response.done"


def three_figures(response_time: float) -> int:
    """Locust's buckets with 3 significant figures instead of its 2: 1103 ms are shown as 1100 and not as 1200."""
    digits = len(str(round(response_time)))
    return int(round(response_time, min(0, 3 - digits)))


class TurnFailedError(RigError):
    """Shown by Locust beside a turn that did not end as it should."""


class Show(Protocol):
    """Locust's `request` event: `response_time` in milliseconds, None where there is no duration."""

    def __call__(
        self,
        *,
        request_type: str,
        name: str,
        response_time: float | None,
        response_length: int,
        exception: Exception | None,
        context: dict[str, Any],
    ) -> None:
        """Show one row."""


class LiveJournal:
    """Records into the process's journal, and tells Locust what it means; one per call."""

    def __init__(self, journal: Recorder, show: Show) -> None:
        self._journal = journal
        self._show = show
        self._began_ns: dict[str, int] = {}
        self._barge_in: tuple[int, int, str] | None = None
        self._spoken_ns: dict[int, int] = {}
        self._return_ns: int | None = None
        self._returned = ""
        self._heard: tuple[str | None, int] | None = None

    def record(self, kind: type[ev.Event], *, t_ns: int | None = None, **fields: Any) -> None:
        """Record, then show."""
        at_ns = monotonic_ns() if t_ns is None else t_ns
        self._journal.record(kind, t_ns=at_ns, **fields)
        show = _SHOWN.get(kind)
        if show is not None:
            show(self, at_ns, fields)

    def _connecting(self, at_ns: int, fields: dict[str, Any]) -> None:
        self._heard = None
        if fields["attempt"] == 1:
            self._began_ns["connect"] = fields["planned_ns"]
            self._return_ns = None if fields["why"] is ev.Connect.FIRST else fields["planned_ns"]

    def _ready(self, at_ns: int, fields: dict[str, Any]) -> None:
        self._end("WS", "connect", at_ns)
        if self._return_ns is not None:
            self._returned = RETURNS[fields["resumed"]]
            self._began_ns[self._returned] = self._return_ns
            self._return_ns = at_ns

    def _spoken(self, at_ns: int, fields: dict[str, Any]) -> None:
        self._spoken_ns[fields["turn"]] = fields["planned_ns"]
        self._began_ns["first_audio"] = fields["planned_ns"]
        if self._returned in self._began_ns and self._return_ns is not None:
            # What a returning caller spends on speaking is no waiting.
            self._began_ns[self._returned] += fields["planned_ns"] - self._return_ns
            self._return_ns = fields["planned_ns"]

    def _acted(self, at_ns: int, fields: dict[str, Any]) -> None:
        if fields["act"] in BARGE_INS:
            self._barge_in = fields["turn"], fields["planned_ns"], BARGE_INS[fields["act"]]
        else:
            self._began_ns.pop("first_audio", None)

    def _audio(self, at_ns: int, fields: dict[str, Any]) -> None:
        self._end("WSR", "first_audio", at_ns)
        self._end("WSR", self._returned, at_ns)
        if self._heard is not None and self._heard[0] == fields["response_id"]:
            self._sample("WSR", "chunk_gap", at_ns - self._heard[1])
        self._heard = fields["response_id"], at_ns

    def _server(self, at_ns: int, fields: dict[str, Any]) -> None:
        if fields["name"] != TERMINAL or self._barge_in is None or self._barge_in[0] != fields["turn"]:
            return
        # A reply that had ended by itself was not stopped by anybody.
        if fields["detail"].startswith("cancelled"):
            self._sample("WSR", self._barge_in[2], at_ns - self._barge_in[1])
        self._barge_in = None

    def _turn(self, at_ns: int, fields: dict[str, Any]) -> None:
        outcome = fields["outcome"]
        spoken_ns = self._spoken_ns.pop(fields["turn"], None)
        self._began_ns.pop("first_audio", None)
        if outcome in BAD:
            self._sample(
                "WSR", "turn", None if spoken_ns is None else at_ns - spoken_ns, TurnFailedError(f"turn {outcome}")
            )
        elif spoken_ns is not None:
            self._sample("WSR", "turn", at_ns - spoken_ns)

    def _end(self, kind: str, name: str, at_ns: int) -> None:
        began_ns = self._began_ns.pop(name, None)
        if began_ns is not None:
            self._sample(kind, name, at_ns - began_ns)

    def _sample(self, kind: str, name: str, duration_ns: int | None, error: Exception | None = None) -> None:
        self._show(
            request_type=kind,
            name=name,
            response_time=None if duration_ns is None else to_ms(duration_ns),
            response_length=0,
            exception=error,
            context={},
        )


_SHOWN = {
    ev.ConnectStarted: LiveJournal._connecting,
    ev.SessionReady: LiveJournal._ready,
    ev.UtteranceEnded: LiveJournal._spoken,
    ev.ActTaken: LiveJournal._acted,
    ev.AudioReceived: LiveJournal._audio,
    ev.ServerEvent: LiveJournal._server,
    ev.TurnEnded: LiveJournal._turn,
}
