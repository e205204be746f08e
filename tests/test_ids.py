"""Names and numbers that follow from the seed alone."""

import subprocess
import sys

from rig import ids


def test_a_call_is_named_after_its_caller_and_place() -> None:
    assert ids.call_id(3, 12) == "c003-0012"


def test_a_purpose_has_its_own_numbers() -> None:
    assert ids.rng(7, "call", 0, 1).random() == ids.rng(7, "call", 0, 1).random()
    others = [ids.rng(8, "call", 0, 1), ids.rng(7, "call", 1, 0), ids.rng(7, "other", 0, 1)]
    assert ids.rng(7, "call", 0, 1).random() not in [other.random() for other in others]


def test_the_numbers_are_the_same_in_every_process() -> None:
    code = "from rig import ids; print(ids.rng(7, 'call', 0, 1).random(), ids.voice(7, ids.call_id(0, 1), 2))"
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for hash_seed in ("0", "1")
    }
    here = f"{ids.rng(7, 'call', 0, 1).random()} {ids.voice(7, ids.call_id(0, 1), 2)}\n"
    assert found == {here}


def test_a_voice_has_24_bits_and_is_never_0() -> None:
    voices = {ids.voice(7, ids.call_id(caller, 0), session) for caller in range(200) for session in range(3)}
    assert len(voices) == 600
    assert all(0 < voice < 1 << 24 for voice in voices)
