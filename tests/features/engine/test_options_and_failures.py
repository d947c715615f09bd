"""Which engine is found, which flags go, and how failures are worded: all that needs no engine to run."""

import asyncio
import importlib
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from engines import ignore
from kith.core.errors import NoModelError, UsageError
from kith.features.engine.failures import why_it_failed
from kith.features.engine.home import EngineHome
from kith.features.engine.keeper import EngineLog
from kith.features.engine.options import EngineOptions, flags_of, names_flag
from kith.features.engine.processes import find_engine
from kith.features.engine.running import open_engine
from kith.features.engine.wheel import FLAGS, FlagChoice, set_flags


def test_no_engine_is_said_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoModelError, match="There is no llama-server: put llama-server on the PATH"):
        find_engine("llama-server")


def test_without_the_wheel_both_remedies_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # as if it were not installed
    with pytest.raises(NoModelError, match=r'pip install "kith-agent\[engine\]".*llama-server'):
        find_engine()


def test_a_program_on_the_path_is_found(program: Path) -> None:
    assert find_engine("llama-server") == str(program.parent / "bin" / "llama-server")


def test_a_program_of_the_current_folder_is_no_engine(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(program.parent / "bin")
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(NoModelError):
        find_engine("llama-server")


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (("--host", "0.0.0.0"), "kith chooses --host"),
        (("--host=0.0.0.0",), "kith chooses --host"),
        (("--draft-model", "x"), "does not know '--draft-model'"),
        (("--batch-size", "many"), "--batch-size takes a number, not 'many'"),
        (("-ctk", "q9"), "-ctk takes one of f32"),
        (("--spec-type", "ngram-mod,guess"), "--spec-type takes one of none.*not 'guess'"),
        (("--chat-template-file", "/nowhere"), "'/nowhere' cannot be read"),
    ],
)
def test_flags_that_cannot_be_are_refused_before_the_start(
    state: Path, wheel: Path, extra: tuple[str, ...], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        asyncio.run(open_engine(wheel, EngineOptions(extra=extra), state, ignore, prefer="xllamacpp"))
    assert not state.exists()


EXAMPLES = ((int, "1"), (float, "1"), (str, "a=CPU"), (Path, __file__))


@pytest.mark.slow
def test_every_flag_of_the_engine_inside_is_one_of_its_fields(wheel: Path) -> None:
    engine: Any = importlib.import_module("xllamacpp")
    for name, (places, kind) in FLAGS.items():
        words = [word for holds, word in EXAMPLES if kind is holds]
        if isinstance(kind, FlagChoice) and places.rpartition(".")[2] not in kind.words:
            words = list(kind.words)
        for arguments in [[name, word] for word in words] or [[name]]:
            set_flags(engine, engine.CommonParams(), arguments)


@pytest.mark.slow
def test_ways_to_guess_ahead_reach_the_engine_inside(wheel: Path) -> None:
    engine: Any = importlib.import_module("xllamacpp")
    params = engine.CommonParams()
    set_flags(engine, params, ["--spec-type", "draft-mtp,ngram-map-k", "-md", "x.gguf", "-td", "3"])
    names = [each.name.removeprefix("COMMON_SPECULATIVE_TYPE_") for each in params.speculative.types]
    assert names == ["DRAFT_MTP", "NGRAM_MAP_K"] and params.load_mtp
    draft = params.speculative.draft
    assert (draft.mparams.path, draft.cpuparams.n_threads) == ("x.gguf", 3)
    set_flags(engine, params, ["--spec-type", "none"])
    assert not params.load_mtp


def test_names_of_flags_are_whole_words() -> None:
    words = ("--spec-type=none", "-c", "-np2", "--cache-ram")
    assert names_flag(words, "--spec-*") and names_flag(words, "--cache-ram")
    assert not names_flag(words, "-np", "--cache", "none")


def test_the_last_word_is_the_persons() -> None:
    assert flags_of(EngineOptions(threads=2, extra=("-t", "7")))[-4:] == ("--threads", "2", "-t", "7")
    assert "--ctx-size" not in flags_of(EngineOptions())


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        (
            ["0.00.001.002 E llama_init: failed to initialize the context: std::bad_alloc"],
            1,
            "not enough memory",
        ),
        (["ggml_cuda: cudaMalloc failed: out of memory"], 1, "not enough memory"),
        (["E llama: data is not within the file bounds, model is corrupted"], 1, "small is incomplete"),
        (["ImportError: libgomp.so.1: cannot open shared object file"], 1, "loaded: ImportError: libgomp"),
        (["all is well"], -signal.SIGILL, r"\(SIGILL, it needs a newer processor\); .* all is well"),
        (["0.00.001.002 E srv init: no\x1b[31m\x07 way", "bye"], 1, r"last words: no \[31m way"),
        ([], -64, r"\(signal 64\)|SIGRTMAX"),
    ],
)
def test_failures_are_worded(said: list[str], code: int, words: str) -> None:
    sentence = why_it_failed("small", said, code, loading=True)
    assert re.search(words, sentence) and sentence.isprintable()


def test_a_log_does_not_grow_without_end(tmp_path: Path) -> None:
    log = EngineLog(tmp_path / "log")
    for number in range(3000):
        log.add(f"{number} {'x' * 1000}\n".encode())
    log.add(b"not ended")
    assert log.path.stat().st_size <= 1 << 20
    assert log.path.read_bytes().endswith(b"not ended")
    assert [line.split()[0] for line in log.last_lines()[-2:]] == ["2999", "not"]


def test_a_home_that_is_not_there_is_nobodys(tmp_path: Path) -> None:
    home = EngineHome(tmp_path / "none")
    assert (home.kept, home.wanted, home.read()) == (False, False, None)
