"""The probe of the slots: when all callers have gone, a polite caller for each session slot, all at the same moment.

A slot that the load has cost the server for ever is missing then, and so is a reply of an engine that answers fewer
callers than it takes. The probe waits until every dropped session must be gone: the grace, a tick of the reaper, and a
margin. A long load is interrupted for it from time to time.
"""

from rig import ids
from rig.config.pipeline import Duplex
from rig.config.run import RunConfig
from rig.plan import Plan
from rig.scripts import Behaviour, CallScript, TurnScript

PROBE_FILE = "probe.jsonl"
UTTERANCE = "short"
GATHER_MS = 500
"""From a caller's start to its call: by then all callers are there."""


def make_probes(config: RunConfig, limits: Duplex | None) -> Plan | None:
    """The calls of all probes, `index` telling which; None when none is wanted or the server's limits are not known."""
    if limits is None or not config.slots.probe:
        return None
    turn = TurnScript(UTTERANCE, 0)
    calls = tuple(
        CallScript(ids.probe_call_id(number, slot), slot, number, Behaviour.SLOTS, GATHER_MS, (turn,))
        for number in range(len(config.rounds_s))
        for slot in range(limits.max_sessions)
    )
    return Plan(config.seed, limits.max_sessions, calls)


def one_probe(probes: Plan, number: int) -> Plan:
    """The calls of one probe alone."""
    return Plan(probes.seed, probes.callers, tuple(call for call in probes.calls if call.index == number))


def settle_s(config: RunConfig, limits: Duplex) -> float:
    """Seconds from the last caller until every slot has to be free."""
    return limits.disconnect_grace_s + limits.reaper_interval_s + config.slots.margin_s
