"""Whether a command is plainly harmless: it only looks, at the tree alone, and at nothing private in it.

This is a convenience for the person, never the boundary: what is allowed here needs no question where
commands cannot be confined, and everything else is asked about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import join, normpath
from typing import Final, Literal, Protocol

from kith.shell.kinds import Read, path_fault
from kith.shell.parse import NotPlainError, Simple, Word, parse
from kith.shell.permitted import NotPermittedError, check


class Look(Protocol):
    """What the disk says, which the words of a command do not tell. Each answers why not, "" for nothing."""

    def read(self, read: Read) -> str:
        """Why a path of the tree may not be read without a question (a link that leads out of it ...)."""

    def settings(self) -> str:
        """Why git may not be run on contents: what the repository's own settings may start."""


@dataclass(frozen=True, slots=True)
class _Fixed:
    """The same answer about the settings always, and nothing against any path."""

    answer: str

    def read(self, read: Read) -> str:
        return ""

    def settings(self) -> str:
        return self.answer


# Nobody looked at the disk, so what depends on a repository's own settings is asked about; or all is well.
UNSEEN: Final[Look] = _Fixed("the repository's own settings may name programs that git starts then")
TRUSTING: Final[Look] = _Fixed("")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether it needs no question, else why it needs one: `why`, and what that leaves in `doubt`.

    "unclear": what the command means; "acts": whether it only looks.
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
    "unclear": "It is not plainly understood: ",
    "acts": "It may do more than look: ",
}


def decide(line: str, look: Look = UNSEEN) -> Judgement:
    """Judge a command for bash, run in the tree's own folder; whatever is not plainly understood is asked."""
    try:
        why = _judge(parse(line), look)
    except NotPlainError as error:
        return Judgement(False, f"{error}.", "unclear")
    except NotPermittedError as error:
        return Judgement(False, f"{error}.", "acts")
    return Judgement(not why, why)


def _judge(commands: Sequence[Simple], look: Look) -> str:
    """Why not; "" when every program only looks."""
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
