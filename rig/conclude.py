"""The end of `rig run`, when nothing runs any more: the verdict, and serving it for a while."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rig.errors import RigError
from rig.live import View
from rig.metrics.endpoint import Endpoint
from rig.report import Judgement, judge_folder, write_all


def conclude(folder: Path) -> Judgement:
    """Judge a run that is over. Raises RigError when the user does not wait for it, or it cannot be written."""
    try:
        judgement = judge_folder(folder)
        write_all(judgement)
    except KeyboardInterrupt:
        raise RigError(f"stopped before the run was judged; do it with: rig judge {folder}") from None
    except RigError as error:
        raise RigError(f"{error}; the run is there, judge it with: rig judge {folder}") from error
    return judgement


def linger(endpoint: Endpoint, judgement: Judgement, linger_s: float, view: View) -> None:
    """Serve the verdict for a while."""
    endpoint.show(lambda: judgement.metrics)
    if linger_s > 0:
        view.say(judgement.sentence)
        view.say(f"serving the verdict at {endpoint.url} for {linger_s:g} s; Ctrl-C ends it")
        with suppress(KeyboardInterrupt):
            time.sleep(linger_s)


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """After the loop and its handlers are gone: a terminal has to be left in order also then."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
