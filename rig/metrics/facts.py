"""What the rig and its watchers recorded, as metrics: the run, the server's processes, the bus."""

from collections.abc import Iterable

from rig.clock import NS_PER_S, to_s
from rig.events import bus as eb
from rig.events import types as ev
from rig.metrics.board import Board

BUS_COUNTERS: dict[type[ev.Event], str] = {
    eb.ProducerRefused: "rig_bus_refused_producers",
    eb.ProducerIncomplete: "rig_bus_incomplete_producers",
    eb.BrokerExited: "rig_bus_broker_exits",
}


class Facts:
    """Takes the events that are no call's, in the order of their time, and knows how things stand after the last."""

    def __init__(self) -> None:
        self.board = Board()
        self.phase = ev.Phase.BOOT
        self.phase_ns: int | None = None
        self.began_ns: int | None = None
        self.run_id = ""
        self.ended: ev.RunEnded | None = None
        self._wall_ns: int | None = None
        self._stages: dict[int, tuple[str, str]] = {}
        self._rss: dict[int, int] = {}
        self._producers: dict[str, eb.ProducerState] = {}

    def take_all(self, events: Iterable[ev.AnyEvent]) -> None:
        """Take some events in; those of calls are nothing to it."""
        for event in events:
            if not isinstance(event, ev.CallEvent):
                self._take_of_run(event)
                self._take_of_server(event)
                self._take_of_bus(event)

    @property
    def watched(self) -> bool:
        """Whether a process of the server was seen: without one nobody knows that none died."""
        return bool(self._stages)

    def wall_s(self, t_ns: int) -> float | None:
        """Unix time of a moment; None before the rig's journal began."""
        return None if self._wall_ns is None else (self._wall_ns + t_ns) / NS_PER_S

    def gauges(self, now_ns: int) -> Board:
        """What has a value only for a moment."""
        now = Board()
        for phase in ev.Phase:
            now.set("rig_run_phase", phase is self.phase, phase)
        if self.began_ns is not None:
            end_ns = now_ns if self.ended is None else self.ended.t_ns
            now.set("rig_run_elapsed_seconds", to_s(end_ns - self.began_ns))
            start_s = self.wall_s(self.began_ns)
            if start_s is not None:
                now.set("rig_run_start_time_seconds", start_s)
        if self.ended is not None:
            now.set("rig_run_ended", 1, self.ended.reason)
        for stage, state in self._stages.values():
            now.count("rig_processes", stage, state)
        for pid, rss in self._rss.items():
            stage, state = self._stages.get(pid, ("", "dead"))
            # Afterwards the last samples are what is left to tell; meanwhile a process that is gone has no memory.
            if self.ended is not None or state in ("alive", "paused"):
                now.set("rig_process_resident_memory_bytes", rss, stage, str(pid))
        for state in eb.ProducerState if self._producers else ():
            now.set("rig_bus_producers", list(self._producers.values()).count(state), state)
        return now

    def _take_of_run(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.Header() if event.role == "rig":
                self._wall_ns = event.wall_ns - event.t_ns
            case ev.RunStarted():
                self.began_ns, self.run_id = event.t_ns, event.run_id
            case ev.PhaseEntered():
                self.phase, self.phase_ns = event.phase, event.t_ns
            case ev.RunEnded():
                self.ended = event
            case ev.PipelineReady():
                self.board.set("rig_server_boot_seconds", to_s(event.boot_ns))
            case _:
                pass

    def _take_of_server(self, event: ev.AnyEvent) -> None:
        match event:
            case ev.ProcessSeen() if event.stage not in ev.NO_STAGE:
                self._stages[event.pid] = (event.stage, "alive")
                self.board.count("rig_process_deaths", event.stage, by=0)
            case ev.ProcessPaused() if event.pid in self._stages:
                self._stages[event.pid] = (event.stage, "paused" if event.paused else "alive")
            case ev.ProcessDied() if event.is_fault:
                self.board.count("rig_process_deaths", event.stage)
                self._stages[event.pid] = (event.stage, "dead")
            case ev.ProcessDied() if event.pid in self._stages:
                self._stages[event.pid] = (event.stage, "stopped")
            case ev.MemorySampled() if event.pid in self._stages:
                self._rss[event.pid] = event.rss_bytes
            case ev.LogSignature(expected=False):
                self.board.count("rig_log_signatures", event.stage, event.signature, by=1 + event.left_out)
            case ev.HealthProbed():
                status = "none" if event.status is None else str(event.status)
                self.board.count("rig_health_probes", status)
                self.board.observe("rig_health_probe_seconds", to_s(event.latency_ns), status)
            case _:
                pass

    def _take_of_bus(self, event: ev.AnyEvent) -> None:
        match event:
            case eb.BusChanged():
                self.board.set("rig_bus_up", event.up)
                for name in (*BUS_COUNTERS.values(), "rig_bus_filled_events"):
                    self.board.count(name, by=0)
            case eb.ProducerStatus():
                self._producers[event.producer] = event.state
            case eb.EventsFilled():
                self.board.count("rig_bus_filled_events", by=event.events)
            case eb.ProducerRefused() | eb.ProducerIncomplete() | eb.BrokerExited():
                self.board.count(BUS_COUNTERS[type(event)])
            case _:
                pass
