"""The server's stages: when each process was there, when it was paused, how it ended, how much memory it had."""

from collections import Counter
from dataclasses import dataclass, field

from rig.clock import to_s
from rig.events import types as ev
from rig.history import History
from rig.report.html.bins import Axis, Peaks

MIB = 1 << 20


@dataclass
class Life:
    """One process of a stage. Times in seconds since the run began; `to_s` is None while it lived to the end."""

    stage: str
    pid: int
    from_s: float
    to_s: float | None = None
    how: str = "lived to the end of the recording"
    died: bool = False
    """Whether it ended without being asked."""
    last_lines: tuple[str, ...] = ()
    title: str = ""
    pauses: list[tuple[float, float | None]] = field(default_factory=list)
    first_rss: int | None = None
    last_rss: int | None = None
    peak_rss: int | None = None

    @property
    def paused_s(self) -> float | None:
        """Seconds in state T; None when a pause has no end in the record."""
        ends = [(begin, end) for begin, end in self.pauses if end is not None]
        return None if len(ends) < len(self.pauses) else sum(end - begin for begin, end in ends)


def lives_of(history: History) -> list[Life]:
    """Every process that was part of a stage, in the order in which they appeared."""
    lives: dict[int, Life] = {}
    first_seen: dict[int, float] = {}
    for event in history.events:
        at_s = to_s(event.t_ns - history.origin_ns)
        match event:
            case ev.ProcessSeen():
                first_seen.setdefault(event.pid, at_s)
                if event.stage not in ev.NO_STAGE:
                    # A process is seen before it has a title: it lives from then.
                    lives[event.pid] = Life(event.stage, event.pid, first_seen[event.pid], title=event.title)
            case ev.ProcessDied() if event.pid in lives or event.stage not in ev.NO_STAGE:
                life = lives.setdefault(event.pid, Life(event.stage, event.pid, first_seen.get(event.pid, at_s)))
                life.to_s, life.how, life.died = at_s, how_ended(event), not event.expected
                life.last_lines, life.title = tuple(event.last_lines), event.title
            case ev.ProcessPaused() if event.pid in lives:
                _pause(lives[event.pid], at_s, event.paused)
            case ev.MemorySampled() if event.pid in lives:
                _weigh(lives[event.pid], event.rss_bytes)
            case _:
                pass
    return sorted(lives.values(), key=lambda life: (life.from_s, life.pid))


def _pause(life: Life, at_s: float, paused: bool) -> None:
    if paused:
        life.pauses.append((at_s, None))
    elif life.pauses and life.pauses[-1][1] is None:
        life.pauses[-1] = (life.pauses[-1][0], at_s)


def _weigh(life: Life, rss_bytes: int) -> None:
    if life.first_rss is None:
        life.first_rss = rss_bytes
    life.last_rss = rss_bytes
    life.peak_rss = max(rss_bytes, life.peak_rss or 0)


def how_ended(death: ev.ProcessDied) -> str:
    """How a process ended, as far as it is known."""
    if death.signal is not None:
        how = f"killed by {death.signal}"
    elif death.exit_status is not None:
        how = f"exited with status {death.exit_status}"
    else:
        how = "ended, status not known"
    return f"{how}, as asked by the rig" if death.expected else how


def memory_by_stage(history: History, axis: Axis) -> dict[str, Peaks]:
    """The largest resident memory of each stage's process in each bin, in MiB."""
    peaks: dict[str, Peaks] = {}
    names = {life.pid: life.stage for life in lives_of(history)}
    for sample in history.of(ev.MemorySampled):
        if sample.pid in names:
            peaks.setdefault(names[sample.pid], Peaks(axis)).add(sample.t_ns, sample.rss_bytes / MIB)
    return peaks


def signatures_by_stage(history: History) -> dict[str, Counter[str]]:
    """How often each stage logged what only a fault writes, while it was not being stopped."""
    found: dict[str, Counter[str]] = {}
    for event in history.of(ev.LogSignature):
        if not event.expected:
            found.setdefault(event.stage, Counter())[event.signature] += 1 + event.left_out
    return found
