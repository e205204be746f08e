"""Random sequences of the calls that an engine core makes, with a look into the books after each.

The rules keep to what vLLM's engine core can do: one step in flight, or two with async scheduling; aborts at any time;
inputs of a session in any order with its outputs; each KV transfer reported at most once.
"""

from collections import Counter

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from vllm.v1.outputs import KVConnectorOutput
from vllm.v1.request import Request, RequestStatus

from rig.engine.patches.registry import patched
from rig.engine.repro.bench import STOP, WORD, Bench, Kind, Setup

PROMPTS = st.sampled_from([1, 20, 40, 70])
MAX_LIVE = 5


class Calls(RuleBasedStateMachine):
    """One scheduler. Subclasses choose which one, and what callers may do."""

    kind = Kind.SCHEDULER
    patches: tuple[str, ...] = ()
    sessions = False
    resets = True
    connector: dict[str, str] | None = None
    blocks = 9

    def __init__(self) -> None:
        super().__init__()
        self._patched = patched(self.patches)
        self._patched.__enter__()
        setup = Setup(self.kind, blocks=self.blocks, max_num_seqs=3, token_budget=64, connector=self.connector)
        self.bench = Bench(setup)
        self.made = 0
        self.ended_loads: set[str] = set()
        self.open_sessions: set[str] = set()

    def live(self) -> list[str]:
        return [name for name, request in self.bench.scheduler.requests.items() if not request.is_finished()]

    @initialize()
    def begin(self) -> None:
        self.bench.note("begin")

    @precondition(lambda self: len(self.live()) < MAX_LIVE)
    @rule(prompt=PROMPTS, max_tokens=st.integers(1, 4), session=st.booleans(), kv=st.sampled_from(["", "load", "send"]))
    def add(self, prompt: int, max_tokens: int, session: bool, kv: str) -> None:
        name = f"r{self.made}"
        self.made += 1
        resumable = session and self.sessions
        params: dict[str, object] | None = None
        if self.connector is not None and kv:
            params = {"load": prompt - 1} if kv == "load" else {"send": True}
        self.bench.add(name, prompt=prompt, max_tokens=max_tokens, resumable=resumable, kv_transfer_params=params)
        if resumable:
            self.open_sessions.add(name)

    @precondition(lambda self: bool(self.open_sessions & set(self.live())))
    @rule(data=st.data(), prompt=PROMPTS)
    def more_input(self, data: st.DataObject, prompt: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.open_sessions & set(self.live()))))
        self.bench.add(name, prompt=prompt, max_tokens=2, resumable=True)

    @precondition(lambda self: bool(self.open_sessions & set(self.live())))
    @rule(data=st.data())
    def last_input(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.open_sessions & set(self.live()))))
        self.open_sessions.discard(name)
        # A session that is closed while it waits for input ends by an abort that nobody tells its client about.
        self.bench.clients[name].hung_up = True
        self.bench.add(name, prompt=1, resumable=False)

    @precondition(lambda self: len(self.bench.in_flight) < (2 if self.kind.is_async else 1))
    @rule()
    def schedule(self) -> None:
        self.bench.schedule()

    @precondition(lambda self: bool(self.bench.in_flight))
    @rule(data=st.data())
    def update(self, data: st.DataObject) -> None:
        step = self.bench.in_flight[0]
        tokens = {name: data.draw(st.sampled_from([WORD, STOP])) for name in sorted(step.sampling)}
        self.bench.update(tokens=tokens, kv=self.transfers(data))

    def transfers(self, data: st.DataObject) -> KVConnectorOutput | None:
        """Some of the transfers that are going on end."""
        if self.connector is None:
            return None
        scheduler = self.bench.scheduler
        asked = {name for name in scheduler.requests if name in scheduler.connector._loaded}
        loading = {
            name
            for name in asked
            if name not in scheduler.finished_recving_kv_req_ids
            and name not in self.ended_loads
            and (
                scheduler.requests[name].status == RequestStatus.WAITING_FOR_REMOTE_KVS
                or scheduler.requests[name].is_finished()
            )
        }
        sending = {
            name
            for name, request in scheduler.requests.items()
            if request.is_finished() and (request.kv_transfer_params or {}).get("send")
        }
        ended = KVConnectorOutput(
            finished_recving={name for name in sorted(loading) if data.draw(st.booleans())},
            finished_sending={name for name in sorted(sending) if data.draw(st.booleans())},
        )
        self.ended_loads.update(ended.finished_recving)
        return ended

    @precondition(lambda self: bool(self.live()))
    @rule(data=st.data())
    def abort(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.live())))
        self.bench.abort(name)
        self.open_sessions.discard(name)

    @precondition(lambda self: self.resets and bool(self.bench.scheduler.running))
    @rule()
    def reset_prefix_cache(self) -> None:
        self.bench.reset_prefix_cache()

    @invariant()
    def books_are_right(self) -> None:
        scheduler = self.bench.scheduler
        places = Counter(id(request) for queue in self.queues() for request in queue)
        for queue in self.queues():
            for request in queue:
                name = request.request_id
                assert scheduler.requests.get(name) is request, f"{name} is queued and not tracked"
                assert not request.is_finished(), f"{name} is queued and finished"
                assert places[id(request)] == 1, f"{name} is in {places[id(request)]} places"
        for name, request in scheduler.requests.items():
            assert request.is_finished() or places[id(request)] == 1, f"{name} is tracked and in no queue"
        assert len(scheduler.running) <= scheduler.max_num_running_reqs
        parked = sum(r.status.name == "WAITING_FOR_STREAMING_REQ" for queue in self.queues() for r in queue)
        assert scheduler.num_waiting_for_streaming_input == parked
        for request in scheduler.running:
            assert request.status.name == "RUNNING", f"{request.request_id} runs as {request.status.name}"

    def queues(self) -> tuple[list[Request], ...]:
        scheduler = self.bench.scheduler
        return scheduler.running, list(scheduler.waiting), list(scheduler.skipped_waiting)

    def teardown(self) -> None:
        try:
            self.finish()
        finally:
            self.bench.close()
            self._patched.__exit__(None, None, None)

    def finish(self) -> None:
        """Close every session, report every transfer, let everybody finish: nothing may be left."""
        for name in sorted(self.open_sessions & set(self.live())):
            self.bench.clients[name].hung_up = True
            self.bench.add(name, prompt=1, resumable=False)
        if self.connector is not None:
            self.bench.worker = lambda _: self.all_transfers()
        assert self.bench.wrongs() == []

    def all_transfers(self) -> KVConnectorOutput:
        scheduler = self.bench.scheduler
        loading = {
            name
            for name, request in scheduler.requests.items()
            if name in scheduler.connector._loaded
            and name not in self.ended_loads
            and (request.status.name == "WAITING_FOR_REMOTE_KVS" or request.is_finished())
        }
        self.ended_loads.update(loading)
        sending = {
            name
            for name, request in scheduler.requests.items()
            if request.is_finished() and (request.kv_transfer_params or {}).get("send") and name not in loading
        }
        return KVConnectorOutput(finished_recving=loading, finished_sending=sending)
