"""What the metrics of a run that goes on and of one that is over have in common."""

from collections.abc import Iterator, Sequence

from rig.config.load import AnyPipeline
from rig.config.pipeline import ExternalServer
from rig.config.run import RunConfig
from rig.fold import Guarded
from rig.measure import Figure, Measure
from rig.metrics.board import Board
from rig.metrics.calls import CallCounts
from rig.plan import Plan


def working(measures: Sequence[Guarded[Figure]]) -> Iterator[Measure]:
    """The measures that have not crashed."""
    for guarded in measures:
        if isinstance(guarded.fold, Measure):
            yield guarded.fold


def put_journals(board: Board, missing: int, damaged: int) -> None:
    """What the journals lost."""
    board.count("rig_journal_missing_events", by=missing)
    board.count("rig_journal_damaged_lines", by=damaged)


def put_plan(
    board: Board, run_id: str, config: RunConfig, pipeline: AnyPipeline, plan: Plan, counts: CallCounts | None
) -> None:
    """What the plan and the pipeline say; without counts of the calls not how many slots are free."""
    labels = (run_id, str(plan.seed), plan.sha256(), pipeline.served_model_name, pipeline.hardware_label)
    board.set("rig_run", 1, *labels)
    board.set("rig_caller_slots", config.load.callers)
    if not isinstance(pipeline, ExternalServer):
        slots = pipeline.duplex_session.max_sessions
        board.set("rig_session_slots", slots)
        if counts is not None:
            board.set("rig_session_slots_free", max(0, slots - counts.sessions_open))
