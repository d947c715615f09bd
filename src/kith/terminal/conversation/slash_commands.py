"""Every command of a conversation: those of the main job, and those of the features that are on."""

import difflib
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, get_args

from kith.core.errors import UsageError
from kith.core.feature import Group, SlashCommand, lazy_in
from kith.settings.check import has_value
from kith.settings.features import features

_here = lazy_in("kith.terminal.conversation.commands")

# Modules of commands, in the order of `/help`: each has its rows (`COMMANDS`) beside what they do.
_MODULES: Final = ("tasks", "changes", "contents", "sessions", "models", "overview", "settings", "help")


@cache
def slash_commands() -> Mapping[str, SlashCommand]:
    """The commands that there are by name, each group together."""
    kernel = [each for name in _MODULES for each in _here(f"{name}:COMMANDS").load()]
    every = (*kernel, *(each for feature in features() for each in feature.slash_commands))
    return {each.name: each for group in get_args(Group) for each in every if each.group == group}


def loaded_commands() -> Mapping[str, SlashCommand]:
    """The same for the keys, which wait for nothing: none before the code of the work is loaded."""
    return slash_commands() if slash_commands.cache_info().currsize else {}


def groups() -> Mapping[Group, tuple[SlashCommand, ...]]:
    """The commands that there are, by the group in which the help lists them."""
    every = slash_commands().values()
    return {group: tuple(each for each in every if each.group == group) for group in get_args(Group)}


def find_command(words: str) -> tuple[SlashCommand | None, str]:
    """The command that is meant, and the rest of the line; None for a task. Raises UsageError."""
    name, _, rest = words.strip().removeprefix("/").partition(" ")
    if not words.startswith("/"):
        found = slash_commands().get(name)
        return (found, rest.strip()) if found and _is_bare(found, rest.split()) else (None, "")
    if name in slash_commands():
        return slash_commands()[name], rest.strip()
    if "/" in name:  # a path, with which a task begins
        return None, ""
    close = difflib.get_close_matches(name, slash_commands(), 1)
    hint = f"did you mean /{close[0]}?" if close else "/help lists what there is."
    raise UsageError(f"There is no /{name}; {hint}")


def _is_bare(command: SlashCommand, words: Sequence[str]) -> bool:
    """True where these words may follow a command without its slash: most sentences are tasks."""
    if command.bare and command.takes == "setting" and words:
        return has_value(words[0])
    return command.bare and len(words) <= command.bare_words


def split_arguments(rest: str) -> list[str]:
    """The words as a shell would part them. Raises UsageError for a quote that nobody closed."""
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"A quote is not closed in {rest!r}.") from error
