"""Shared memory: what the server's tree had mapped is removed once nobody maps it; the rest is only named."""

import os
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory

from rig.pipeline.segments import Segments


def make() -> SharedMemory:
    segment = SharedMemory(create=True, size=4096)
    # This test decides what becomes of it, not the end of the process.
    resource_tracker.unregister(f"/{segment.name}", "shared_memory")
    return segment


def test_a_segment_of_the_tree_is_removed_when_nobody_maps_it() -> None:
    segments = Segments()
    left = make()
    segments.observe([os.getpid()])
    assert left.name in segments.clean()[1], "it is still mapped"
    left.close()
    removed, _ = segments.clean()
    assert removed == [left.name]
    assert not os.path.exists(f"/dev/shm/{left.name}")


def test_a_segment_that_was_there_before_is_left_alone() -> None:
    before = make()
    try:
        segments = Segments()
        segments.observe([os.getpid()])
        before.close()
        removed, new = segments.clean()
        assert before.name not in removed + new
    finally:
        os.unlink(f"/dev/shm/{before.name}")


def test_a_segment_of_somebody_else_is_named_but_left_alone() -> None:
    segments = Segments()
    other = make()
    other.close()
    try:
        removed, new = segments.clean()
        assert removed == []
        assert other.name in new
    finally:
        os.unlink(f"/dev/shm/{other.name}")
