"""The checkpoint folder is whole or not there, and the tokenizer in it is one that the real library loads."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

MISSING = [name for name in ("safetensors", "tokenizers") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"no engine is installed: {', '.join(MISSING)} missing")

KILLED_HALFWAY = """
import os, signal, sys
from pathlib import Path
from rig.engine.checkpoint import writer
writer.save_file = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)
writer.write_tiny(Path(sys.argv[1]), seed=0, reply_s=3.0)
"""


def test_a_write_that_was_killed_leaves_no_folder_of_that_name_and_can_be_repeated(tmp_path: Path) -> None:
    from rig.engine.checkpoint.writer import write_tiny

    folder = tmp_path / "tiny"
    killed = subprocess.run([sys.executable, "-c", KILLED_HALFWAY, str(folder)], check=False)
    assert killed.returncode == -9
    assert not folder.exists()

    write_tiny(folder, seed=0, reply_s=3.0)
    assert (folder / "model.safetensors").is_file()


def test_a_write_that_failed_leaves_nothing_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rig.engine.checkpoint import writer

    def fail(*args: object, **kwargs: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(writer, "save_file", fail)
    with pytest.raises(OSError, match="disk full"):
        writer.write_tiny(tmp_path / "tiny", seed=0, reply_s=3.0)
    assert list(tmp_path.iterdir()) == []


def test_the_tokenizer_has_the_special_tokens_at_their_released_ids_and_reads_them_as_one(tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    from rig.engine.checkpoint import tokens

    tokens.write_tokenizer(tmp_path)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for index, name in tokens.SPECIAL.items():
        assert tokenizer.token_to_id(name) == index
        assert tokenizer.encode(name, add_special_tokens=False).ids == [index]


def test_what_the_model_speaks_are_words_and_what_people_write_comes_back(tmp_path: Path) -> None:
    from tokenizers import Tokenizer

    from rig.engine.checkpoint import tokens

    tokens.write_tokenizer(tmp_path)
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    spoken = tokenizer.decode([tokens.FIRST_WORD, tokens.FIRST_WORD + 1])
    assert spoken.split() == tokens.words()[:2]
    text = "Hello, wörld?"
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False).ids) == text
