"""Options that several commands have: what they set, and for which commands."""

import argparse
from pathlib import Path

import pytest

from kith.core.errors import UsageError
from kith.core.values import Sampling
from kith.settings import load_settings
from kith.terminal.command_table import commands
from kith.terminal.options import settings_flags

ASKING = ("run", "review", "confer", "build", "test", "refactor", "acp", "mcp", "serve")


def given(name: str, *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    commands()[name].arguments.load()(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize("name", ASKING)
def test_commands_that_ask_a_model_take_sampling_options(name: str, tmp_path: Path, home: Path) -> None:
    args = given(name, "--temperature=0.3", "--top-k=9", "--top-p=0.8", "--max-tokens=50", "--seed=4")
    expected = Sampling(temperature=0.3, top_k=9, top_p=0.8, max_tokens=50, seed=4)
    assert load_settings(tmp_path, settings_flags(args)).sampling == expected


@pytest.mark.parametrize(
    "words", ["--temperature=-3", "--mirostat=7", "--mirostat-tau=x", "--seed=99999999999"]
)
def test_a_sampling_option_out_of_range_is_refused(words: str, tmp_path: Path, home: Path) -> None:
    with pytest.raises(UsageError, match=words.partition("=")[0]):
        load_settings(tmp_path, settings_flags(given("run", words)))


def test_the_runtimes_limit_is_no_default_of_its_requests(tmp_path: Path, home: Path) -> None:
    flags = settings_flags(given("runtime", "--max-tokens", "50"))
    assert load_settings(tmp_path, flags).sampling == Sampling()
