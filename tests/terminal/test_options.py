"""Options of the command line become the settings that they override."""

import argparse
from typing import Any

import pytest

from kith.terminal.command_table import TALK, commands
from kith.terminal.options import settings_flags
from outside import Kith, Serve


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
