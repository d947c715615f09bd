"""What "always" allows: exactly the command that was shown, word for word, and nothing wider.

A command that is plainly understood is remembered by its words, so that other spaces or quotes make no
difference; any other is remembered byte for byte. There are no wildcards: a pattern is a command.
"""

import re
import shlex
from collections.abc import Iterator
from typing import Final

from kith.shell.parse import NotPlainError, Simple, Word, parse

_LONGEST: Final = 600  # characters: what is remembered has to be read before
_SHOWN_BARE: Final = re.compile(r"[\w./,:=+@%^*?~-]+")


def pattern_of(line: str) -> str:
    """The pattern for a command, as it is shown; "" for one that cannot be shown as it is."""
    if len(line) > _LONGEST or not all(each.isprintable() or each == "\n" for each in line):
        return ""
    try:
        commands = parse(line)
    except NotPlainError:
        return line
    shown = "".join(_show(commands))
    return shown if _reads_as(shown, commands) else line


def is_within(line: str, pattern: str) -> bool:
    """Whether a command is what a pattern stands for."""
    if line == pattern:
        return True
    try:
        return parse(line) == parse(pattern)
    except NotPlainError:
        return False


def _show(commands: tuple[Simple, ...]) -> Iterator[str]:
    for place, command in enumerate(commands):
        if place:
            yield f"{'' if command.joint == ';' else ' '}{command.joint} "
        yield " ".join([*map(_word, command.words), *(f"< {_word(word)}" for word in command.inputs)])


def _word(word: Word) -> str:
    """Quoted where it has to be; a word that the shell fills in with names has to stay bare."""
    if word.glob and _SHOWN_BARE.fullmatch(word.text):
        return word.text
    return shlex.quote(word.text)


def _reads_as(shown: str, commands: tuple[Simple, ...]) -> bool:
    try:
        return parse(shown) == commands
    except NotPlainError:
        return False
