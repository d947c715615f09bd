"""Decide if a command plainly only looks, with which variables, and what "always" allows."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from posixpath import join, normpath
from typing import Final, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kith.core.git import SAFE_ENVIRONMENT, SAFE_SETTINGS
from kith.shell.argument_kinds import Read, path_fault
from kith.shell.parse import NotPlainError, Simple, Word, parse
from kith.shell.usage import NotPermittedError, check


class DiskChecks(Protocol):
    """Checks that need the disk. Each returns the reason for a refusal, "" for none."""

    def read(self, read: Read) -> str:
        """Explain why reading a path needs a question (a link that leads out of the tree); "" for none."""

    def settings(self) -> str:
        """Explain why git must not read contents: the programs that the repository's settings may start."""


class _Fixed(Struct, frozen=True):
    """The same answer about the settings always, and nothing against any path."""

    answer: str

    def read(self, read: Read) -> str:
        return ""

    def settings(self) -> str:
        return self.answer


# Nobody looked at the disk, so what depends on a repository's own settings is asked about; or all is well.
UNSEEN: Final[DiskChecks] = _Fixed("the repository's own settings may name programs that git starts then")
TRUSTING: Final[DiskChecks] = _Fixed("")


class Judgement(Struct, frozen=True):
    """The decision on a command: allowed, or the reason (`why`) and the kind of `doubt`.

    "unclear": the command's meaning is not known. "acts": it may do more than read.
    """

    allowed: bool
    why: str = ""
    doubt: Literal["", "unclear", "acts"] = ""

    @property
    def reason(self) -> str:
        """The same as a sentence for a person."""
        return f"{_DOUBTS[self.doubt]}{self.why}"


_DOUBTS: Final[Mapping[str, str]] = {
    "": "",
    "unclear": "The command is not fully understood: ",
    "acts": "The command may change something: ",
}


def decide(line: str, look: DiskChecks = UNSEEN) -> Judgement:
    """Judge a command for bash, run in the tree's own folder; whatever is not plainly understood is asked."""
    try:
        why = _judge(parse(line), look)
    except NotPlainError as error:
        return Judgement(False, f"{error}.", "unclear")
    except NotPermittedError as error:
        return Judgement(False, f"{error}.", "acts")
    return Judgement(not why, why)


def _judge(commands: Sequence[Simple], look: DiskChecks) -> str:
    """Explain why a command is not read-only; "" when every program only reads."""
    folder, commands = _enter(commands)
    if folder != "." and (fault := look.read(Read(folder))):
        return f"{fault[:1].upper()}{fault[1:]}."
    for command in commands:
        permitted = check(command.words, piped=command.joint == "|")
        if permitted.git and folder != ".":
            return "It runs git in another folder, which may be a repository of its own."
        for word in command.inputs:
            if fault := path_fault(word):
                raise NotPermittedError(fault)
        inputs = tuple(Read(word.text) for word in command.inputs)
        for read in (*permitted.reads, *inputs):
            if fault := look.read(replace(read, path=normpath(join(folder, read.path)))):
                return f"{fault[:1].upper()}{fault[1:]}."
        # What shows history alone needs no look where nobody can look.
        if permitted.git and (permitted.settings or look is not UNSEEN) and (fault := look.settings()):
            return f"It runs git, and {fault}."
    return ""


def _enter(commands: Sequence[Simple]) -> tuple[str, Sequence[Simple]]:
    """The folder in which all but a first `cd` is done; only `&&` and `|` make sure that it is that one."""
    first, rest = commands[0], commands[1:]
    if first.program != "cd":
        return ".", commands
    if len(first.words) != 2 or first.inputs or any(each.joint not in ("&&", "|") for each in rest):
        raise NotPermittedError("cd may lead to another folder than it says")
    return _folder(first.words[1], rest[0].joint if rest else "&&"), rest


def _folder(word: Word, joint: str) -> str:
    if word.glob or word.text.startswith("-") or joint != "&&":
        raise NotPermittedError("cd may lead to another folder than it says")
    if fault := path_fault(word):
        raise NotPermittedError(fault)
    return word.text


# What "always" allows: exactly the command that was shown, word for word, and nothing wider.

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
    """True if a command matches a pattern."""
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


# The variables of a command that only looks: nothing that a repository brings along starts beside it.

# `diff.external=` would be run as a program without a name; patterns of paths mean what they say to git.
_NOT_HERE: Final = ("diff.external=",)
_SETTINGS: Final = (
    *(each for each in SAFE_SETTINGS if each not in _NOT_HERE),
    *("diff.ignoreSubmodules=all", "diff.autoRefreshIndex=false"),  # looking leaves the index as it is
)
_SHIMS: Final = "shims"  # version managers' programs, which a file in the current folder sends elsewhere


def safe_environment(path: str, root: str) -> dict[str, str]:
    """Variables for git's safe settings, and `path` without relative folders and those in the tree at `root`.

    Settings in variables win over those of every file (git-config, "GIT_CONFIG_COUNT").
    """
    named = {name: value for name, value in SAFE_ENVIRONMENT.items() if name != "GIT_LITERAL_PATHSPECS"}
    named["GIT_CONFIG_COUNT"] = str(len(_SETTINGS))
    for number, setting in enumerate(_SETTINGS):
        key, _, value = setting.partition("=")
        named |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return named | {"PATH": os.pathsep.join(each for each in path.split(os.pathsep) if _is_safe(each, root))}


def _is_safe(folder: str, root: str) -> bool:
    place = PurePath(folder)
    return place.is_absolute() and not place.is_relative_to(root) and _SHIMS not in place.parts
