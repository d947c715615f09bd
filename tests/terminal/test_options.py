"""Options of the command line become the settings that they override."""

import argparse
from pathlib import Path
from typing import Any

import pytest

from kith.core.errors import UsageError
from kith.core.values import Sampling
from kith.settings import load_settings
from kith.terminal.command_table import TALK, commands
from kith.terminal.options import settings_flags
from outside import Kith, Serve

# Commands that ask a model.
ASKING = ("run", "review", "confer", "build", "test", "refactor", "acp", "mcp", "serve")


def parse(command: str, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    arguments = (commands()[command] if command else TALK).arguments
    assert arguments
    arguments.load()(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        ("run --max-task-seconds 90 x", "max_task_seconds", 90),
        ("run --think-tokens 500 x", "think_tokens", 500),
        ("run --no-think x", "think", False),
        ("run --ngl 20 x", "engine.ngl", 20),
        ("run --cache-type-v q8_0 x", "engine.cache_type_v", "q8_0"),
        ("build --no-refine x", "build.refine", False),
        ("build --commit x", "build.auto_commit", True),
        ("build --step-seconds 5 x", "build.step_seconds", 5),
        ("build --step-tokens 900 x", "build.step_tokens", 900),
    ],
)
def test_an_option_is_a_setting(words: str, key: str, value: Any) -> None:
    command, *rest = words.split()
    assert settings_flags(parse(command, *rest))[key] == value


def test_a_conversation_is_gone_on_with_and_shown_plainly() -> None:
    args = parse("", "--continue", "--plain")
    assert args.resume == "last" and args.plain


def test_the_version_has_a_short_option(kith: Kith) -> None:
    assert kith("-V").stdout == kith("--version").stdout


@pytest.mark.parametrize(
    ("setting", "applied"),
    [("max_file_bytes=1000", False), ("max_change_bytes=1000", False), ("max_change_bytes=3000", True)],
)
def test_a_change_beyond_its_limit_is_not_applied(
    kith: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch, setting: str, applied: bool
) -> None:
    name, _, value = setting.partition("=")
    monkeypatch.setenv(f"KITH_{name.upper()}", value)
    big = {"name": "write", "args": {"path": "notes.txt", "content": "long\n" * 400}}
    serve([{"calls": [big]}, *["It is done."] * 5])
    kith.run("--yes", "--unproven", "--check", "none", "write notes", code=None)
    assert (kith.folder / "notes.txt").exists() == applied


def test_a_command_ends_in_time(kith: Kith, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KITH_COMMAND_TIMEOUT", "1")
    server = serve([{"calls": [{"name": "bash", "args": {"command": "sleep 60"}}]}, "It takes too long."])
    kith.run("what does it say?")
    assert "124" in server.requests[-1]["messages"][-1]["content"]


@pytest.mark.parametrize("name", ASKING)
def test_commands_that_ask_a_model_take_sampling_options(name: str, tmp_path: Path, home: Path) -> None:
    args = parse(
        name, "--temperature=0.3", "--top-k=9", "--top-p=0.8", "--max-tokens=50", "--seed=4", "--min-p=0"
    )
    expected = Sampling(temperature=0.3, top_k=9, top_p=0.8, max_tokens=50, seed=4, min_p=0.0)
    assert load_settings(tmp_path, settings_flags(args)).sampling == expected


@pytest.mark.parametrize(
    "words",
    ["--temperature=-3", "--mirostat=7", "--mirostat-tau=x", "--mirostat-eta=2", "--seed=99999999999"],
)
def test_a_sampling_option_out_of_range_is_refused(words: str, tmp_path: Path, home: Path) -> None:
    with pytest.raises(UsageError, match=words.partition("=")[0]):
        load_settings(tmp_path, settings_flags(parse("run", words)))


def test_the_runtimes_limit_is_no_default_of_its_requests(tmp_path: Path, home: Path) -> None:
    flags = settings_flags(parse("runtime", "--max-tokens", "50"))
    assert load_settings(tmp_path, flags).sampling == Sampling()
