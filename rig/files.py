"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rig.errors import RigError, UsageError, reason


@contextmanager
def whole(path: Path, remedy: str = "", *, make_folder: bool = False) -> Iterator[Path]:
    """A place to write, which takes the place of `path` when all went well, with its folder where that is wished.

    Raises RigError when that cannot be; UsageError with the remedy where the user can name another place.
    """
    work = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        yield work
        os.replace(work, path)
    except OSError as error:
        problem = f"cannot write {path}: {reason(error)}"
        raise (UsageError(f"{problem}; {remedy}") if remedy else RigError(problem)) from error
    finally:
        with suppress(OSError):
            work.unlink(missing_ok=True)


def replace(path: Path, content: bytes, remedy: str = "", *, make_folder: bool = False) -> None:
    """Write a file in the place of an older one; see `whole`."""
    with whole(path, remedy, make_folder=make_folder) as work:
        work.write_bytes(content)
