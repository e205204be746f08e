"""The entry point of the group `vllm.general_plugins`: vLLM calls `load` once in every process that it starts.

A process that was told to be changed and cannot be does not start: it ends with one line. A run whose report says
"patched" while one stage is not would be worse than no run, and so would one that blames a bug which is not there.
"""

import logging
import os

ENVIRONMENT = "RIG_ENGINE_PATCHES"
"""Names of the patches, separated by commas; set by the rig for the server's processes."""

BUGS_ENVIRONMENT = "RIG_ENGINE_BUGS"
"""Names or files of the bugs that are put back, separated by commas."""

PLUGIN = "rig_patches"
"""Name of the entry point, as `VLLM_PLUGINS` would have to list it."""


def load() -> None:
    """Put on the bugs, then the patches of the environment. Ends the process when one does not fit the engine."""
    bugs, patches = _named(BUGS_ENVIRONMENT), _named(ENVIRONMENT)
    if not bugs and not patches:
        return
    # Imported here: vLLM skips an entry point that cannot be imported, and the process would go on unpatched.
    log = logging.getLogger("vllm.rig.patches")
    what = "bugs" if bugs and not patches else "patches" if not bugs else "bugs and patches"
    try:
        from rig.engine.patches.patch import Kind
        from rig.engine.patches.registry import applied, put_on

        put_on(bugs, patches)
    except Exception as error:
        log.critical("engine %s refused, this process stops: %s", what, error)
        raise SystemExit(f"engine {what} refused: {error}") from error
    if bugs:
        log.warning("ENGINE BUGS PUT BACK in process %d: %s", os.getpid(), ", ".join(applied(Kind.BUG)))
    if patches:
        log.info("engine patches applied in process %d: %s", os.getpid(), ", ".join(applied()))


def _named(variable: str) -> list[str]:
    return [name.strip() for name in os.environ.get(variable, "").split(",") if name.strip()]
