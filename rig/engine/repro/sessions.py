"""Found by random calls: a streaming session that stops while its next step is in flight."""

from rig.engine.repro.bench import STOP, Bench, Kind, Setup
from rig.engine.repro.scenario import RIGHT, UNPATCHED, Case, Expected, Scenario

NEVER_STARTS = Expected(wrong="the client of polite was never told")


def late_stop(bench: Bench) -> None:
    """Two slots, two sessions whose late token also ends the segment; both hang up; then one polite caller."""
    names = ("one", "two")
    for name in names:
        bench.add(name, max_tokens=8, resumable=True)
    bench.schedule()
    bench.schedule()
    bench.update(tokens=dict.fromkeys(names, STOP))
    bench.update(tokens=dict.fromkeys(names, STOP))
    bench.note(f"{bench.books()}, parked {bench.scheduler.num_waiting_for_streaming_input}")
    for name in names:
        bench.abort(name)
    bench.note(f"{bench.books()}, parked {bench.scheduler.num_waiting_for_streaming_input}")
    bench.add("polite")
    bench.schedule()
    bench.update()


SCENARIOS = (
    Scenario(
        "session-late-stop",
        "two sessions stop with a step in flight and hang up; then a polite caller",
        late_stop,
        (
            Case(Setup(Kind.ASYNC, max_num_seqs=2), {UNPATCHED: NEVER_STARTS}),
            # vLLM-Omni throws away what was in flight when a segment stopped.
            Case(Setup(Kind.OMNI_AR_ASYNC, max_num_seqs=2), {UNPATCHED: RIGHT}),
        ),
        public=True,
    ),
)
