"""A state folder that must be clean afterwards, and the two kinds of engine."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines import HELP
from kith.core.errors import NoModelError
from kith.features.engine.processes import find_engine
from kith.features.engine.running import stop_engines
from processes import processes_of
from waiting import until


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """A state folder; afterwards nothing may run that was started for it."""
    folder = tmp_path / "state"
    yield folder
    stop_engines(folder)
    until(lambda: not processes_of(folder), "a process was left behind")


@pytest.fixture
def wheel(tiny_gguf: Path) -> Path:
    """The tiny model, for the engine inside."""
    try:
        find_engine("xllamacpp")
    except NoModelError as error:
        pytest.skip(str(error))
    return tiny_gguf


@pytest.fixture
def program(tmp_path: Path, tiny_gguf: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model file for a `llama-server` on the PATH, which notes beside it how it was called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    binary = folder / "llama-server"
    binary.write_text(f"#!{sys.executable}\n{(HELP / 'llama_server.py').read_text()}")
    binary.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    model = tmp_path / "model.gguf"
    model.write_bytes(tiny_gguf.read_bytes())
    return model
