"""The entry point of the group `vllm.general_plugins`: vLLM calls `load` once in every process that it starts.

A process that was told to be patched and cannot be does not start: it ends with one line. A run whose report says
"patched" while one stage is not would be worse than no run.
"""

import logging
import os

ENVIRONMENT = "RIG_ENGINE_PATCHES"
"""Names of the patches, separated by commas; set by the rig for the server's processes."""

PLUGIN = "rig_patches"
"""Name of the entry point, as `VLLM_PLUGINS` would have to list it."""


def load() -> None:
    """Apply the patches named in the environment. Ends the process when one does not fit the installed engine."""
    names = [name.strip() for name in os.environ.get(ENVIRONMENT, "").split(",") if name.strip()]
    if not names:
        return
    # Imported here: vLLM skips an entry point that cannot be imported, and the process would go on unpatched.
    log = logging.getLogger("vllm.rig.patches")
    try:
        from rig.engine.patches.registry import apply_patches

        applied = apply_patches(names)
    except Exception as error:
        log.critical("engine patches refused, this process stops: %s", error)
        raise SystemExit(f"engine patches refused: {error}") from error
    log.info("engine patches applied in process %d: %s", os.getpid(), ", ".join(applied))
