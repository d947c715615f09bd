"""The pages of the site that are made from code name every command, option and setting."""

import subprocess
import sys

import pytest

from kith.settings.check import KEYS, keys_in_tables
from kith.terminal.command_table import TALK, commands
from kith.terminal.conversation.slash_commands import slash_commands
from kith.terminal.shell_completion import choices_of
from places import ROOT


def printed(page: str) -> str:
    """A generated page of the site."""
    command = [sys.executable, str(ROOT / "tools" / "docs_site.py"), page]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_reference_names_every_command_and_option() -> None:
    parts = dict(part.split("\n", 1) for part in printed("commands").split("\n## ")[1:])
    for command in (TALK, *commands().values()):
        text, options = parts[f"kith {command.name}".strip()], choices_of(command).options
        assert [each for each in options if command.arguments and each not in text] == []
    talk = parts["In a conversation"]
    assert [name for name in slash_commands() if f"`/{name}" not in talk] == []


def test_the_reference_has_a_row_for_every_setting() -> None:
    page = printed("settings")
    assert [key for key in (*KEYS, *keys_in_tables()) if f"| `{key}` |" not in page] == []


@pytest.mark.slow
def test_every_part_of_the_interface_is_documented_and_tested() -> None:
    command = [sys.executable, str(ROOT / "tools" / "interface_table.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
