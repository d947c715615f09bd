"""Help of the command line: short lines in groups, the commands of every day first, on any width."""

from typing import get_args

import pytest

from kith.cli import main
from kith.core.feature import CommandGroup
from kith.terminal.command_table import TALK, commands, groups

EVERY = (TALK, *commands().values())


def test_every_command_says_in_eight_words_what_it_does() -> None:
    for each in EVERY:
        assert len(each.meaning.split()) <= 8, each.name
        assert each.meaning[0].isupper() and not each.meaning.endswith("."), each.name


def test_every_own_command_has_a_group_and_only_wholes_are_listed() -> None:
    listed = [each.name for members in groups().values() for each in members]
    assert sorted(listed) == sorted(each.name for each in EVERY if " " not in each.name)
    assert set(groups()) == {*get_args(CommandGroup)} - {"More"}


@pytest.mark.parametrize("width", [60, 80, 200])
def test_help_begins_with_the_commands_of_every_day(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    lines = shown.split("\n")
    assert max(map(len, lines)) <= width
    first = lines.index("every day:")
    names = [line.partition("   ")[0].strip() for line in lines[first + 1 :] if line.startswith("  kith")]
    assert names[:5] == ["kith", "kith run", "kith undo", "kith sessions", "kith doctor"]
    assert "-p TASK, --prompt TASK" in shown and "--yes" in shown


def test_parts_of_a_command_stand_below_its_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["sessions", "--help"])
    shown = capsys.readouterr().out
    assert shown.index("List sessions, newest first.") < shown.index("sessions fork")
    assert "sessions fork" not in shown.partition("options:")[0]
