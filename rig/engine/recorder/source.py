"""What of the engine the recorder holds on to, and whether the engine is the one that it was written for."""

import inspect
from types import FunctionType

from rig.engine.patches.patch import fingerprint

SCHEDULER_METHODS = (
    "schedule",
    "_update_after_schedule",
    "update_from_output",
    "add_request",
    "finish_requests",
    "_free_request",
    "_handle_stopped_request",
    "_preempt_request",
)
ADAPTER_METHODS = ("_commit_received_chunk", "_send_single_request_for_generation")
CONNECTOR_METHODS = ("put",)

KNOWN: dict[str, dict[str, str]] = {
    "vllm.v1.core.sched.async_scheduler": {
        "AsyncScheduler._update_after_schedule": "07ec8339a62eee8a49720dbf5ce0df5d",
    },
    "vllm.v1.core.sched.scheduler": {
        "Scheduler._free_request": "806185e5fa7a994d5a319d60f2dceeda",
        "Scheduler._handle_stopped_request": "8397fa6071d36c040fc5a6e8fca5bfe3",
        "Scheduler._preempt_request": "b405bb1c8fcedcadc559e2ffa8def1d7",
        "Scheduler._update_after_schedule": "d4c15dce856daf13eb6c2c427f8e63d8",
        "Scheduler.add_request": "6f76c77a9557bfd3a54eb41b9f287e57",
        "Scheduler.finish_requests": "a5badc14634fcd57e0a1ef93054c24a3",
        "Scheduler.schedule": "eb17ad8fc87eaa1ade6b9ba2ac43bf38",
        "Scheduler.update_from_output": "ce2f3988a274265361bb22915ce13f5d",
    },
    "vllm_omni.core.sched.omni_ar_scheduler": {
        "OmniARScheduler._free_request": "38f7c31520f3f5000d5ca4fd716b8833",
        "OmniARScheduler._handle_stopped_request": "78908e7d02b946b6eeaf8b70abbb7fb3",
        "OmniARScheduler.finish_requests": "b087b5c67787d8ca60c973bc4fa159b6",
        "OmniARScheduler.schedule": "135b77d118f5d8c1af777cd4c5adb24c",
        "OmniARScheduler.update_from_output": "ce55e58c04db6e766a873bd52a516dac",
    },
    "vllm_omni.core.sched.omni_generation_scheduler": {
        "OmniGenerationScheduler._free_request": "e6571aef9a96697fb8a3d711cce012f7",
        "OmniGenerationScheduler._handle_stopped_request": "5202501d62a81b0d4a3d7652d51a18d4",
        "OmniGenerationScheduler.schedule": "f5b7e149921cc4ef5373f2c2ee362a95",
        "OmniGenerationScheduler.update_from_output": "b58663230f316754bc4e4780c6661a52",
    },
    "vllm_omni.core.sched.omni_scheduler_mixin": {
        "OmniSchedulerMixin.add_request": "627badd8fa3722370505ba4c8ce29406",
        "OmniSchedulerMixin.finish_requests": "2d9a9786b437bd7372759c38e0a4f2ca",
    },
    "vllm_omni.distributed.omni_connectors.connectors.shm_connector": {
        "SharedMemoryConnector.put": "a35341908782c74654561933ca7dd682",
    },
    "vllm_omni.distributed.omni_connectors.transfer_adapter.chunk_transfer_adapter": {
        "OmniChunkTransferAdapter._commit_received_chunk": "76f8cfc2ecf828b66afd286f5b03a76b",
        "OmniChunkTransferAdapter._send_single_request_for_generation": "d7a676a32d409a3215e34027c293014f",
    },
}
"""First half of the fingerprint (rig/engine/patches/patch.py) of each method in vLLM 0.30.0 and vLLM-Omni 0.30.0."""


def misfits(owner: type, methods: tuple[str, ...]) -> list[str]:
    """Why the methods of a class are not those that the recorder was written for: one line each.

    All classes that it inherits from are looked at, because a method may call the one that it replaces. What wraps a
    method and names it (a patch does) is seen through.
    """
    problems = []
    for name in methods:
        definitions = [cls for cls in owner.__mro__ if name in vars(cls)]
        if not definitions:
            problems.append(f"{owner.__name__} has no {name}")
        problems += filter(None, (_misfit(cls, name) for cls in definitions if not inspect.isabstract(cls)))
    return problems


def _misfit(cls: type, name: str) -> str | None:
    function, path = vars(cls)[name], f"{cls.__name__}.{name}"
    target = f"{cls.__module__}:{path}"
    expected = KNOWN.get(cls.__module__, {}).get(path)
    if expected is None:
        return f"{target} is not known"
    if not isinstance(function, FunctionType):
        return f"{target} is not a plain function"
    found = fingerprint(function)
    if not found.startswith(expected):
        return f"{target} is another source (sha256 {found[:12]}, not {expected[:12]})"
    return None
