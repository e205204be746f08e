"""One line about a run that goes on, read from the journals as they grow."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from rig.clock import to_ms
from rig.events.types import (
    AnyEvent,
    AudioReceived,
    CallEnded,
    CallStarted,
    ProcessDied,
    Refused,
    SessionReady,
    UtteranceEnded,
)

HELPER_STAGE = "helper"
"""Short-lived children of the server, whose end means nothing."""

_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


@dataclass
class Progress:
    """Follows a folder of journals; `update` reads what is new since the last call."""

    events_dir: Path
    _offsets: dict[Path, int] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)
    _spoken: dict[tuple[str, int], int] = field(default_factory=dict)
    _first_audio_ns: list[int] = field(default_factory=list)

    def update(self) -> None:
        """Take in what the producers have written."""
        for path in self.events_dir.glob("*.jsonl"):
            self._read(path)

    def line(self, elapsed_s: float, phase: str) -> str:
        """Elapsed time, calls, sessions, refusals, deaths, p50 of first audio so far."""
        counts = self._counts
        values = sorted(self._first_audio_ns)
        p50 = f"{to_ms(values[(len(values) - 1) // 2]):.0f} ms" if values else "none yet"
        return (
            f"{elapsed_s:5.0f} s  {phase:<5}  calls {counts['ended']}/{counts['calls']} ended  "
            f"sessions {counts['sessions']}  refused {counts['refused']}  deaths {counts['deaths']}  "
            f"first audio p50 {p50}"
        )

    def _read(self, path: Path) -> None:
        with path.open("rb") as file:
            file.seek(self._offsets.get(path, 0))
            data = file.read()
        # A line still being written is left for the next time.
        whole = data.rfind(b"\n") + 1
        self._offsets[path] = self._offsets.get(path, 0) + whole
        for line in data[:whole].splitlines():
            try:
                self._take(_decoder.decode(line))
            except msgspec.MsgspecError:
                continue  # the judgement reports damaged lines; a progress line need not

    def _take(self, event: AnyEvent) -> None:
        match event:
            case CallStarted():
                self._counts["calls"] += 1
            case CallEnded():
                self._counts["ended"] += 1
            case SessionReady():
                self._counts["sessions"] += 1
            case Refused():
                self._counts["refused"] += 1
            case ProcessDied(expected=False) if event.stage != HELPER_STAGE:
                self._counts["deaths"] += 1
            case UtteranceEnded():
                self._spoken[event.call, event.turn] = event.planned_ns
            case AudioReceived():
                spoken_ns = self._spoken.pop((event.call, event.turn), None)
                if spoken_ns is not None:
                    self._first_audio_ns.append(event.t_ns - spoken_ns)
            case _:
                pass
