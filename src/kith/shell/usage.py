"""A line of usage, read: which flags a program may be given, and what may stand beside them."""

from dataclasses import dataclass, field
from functools import cache
from typing import Final

from kith.shell.kinds import Below

_MARKS: Final = "+^!>"


@dataclass(frozen=True, slots=True)
class Flag:
    """What follows a flag: a kind ("" for nothing), and whether only behind `=` (`optional`).

    `below`: what is in folders is read. `replaces`: it takes the place of the first argument. `needed`: the
    program only looks when it has one of these. `apart`: its value is always the next word.
    """

    kind: str = ""
    optional: bool = False
    below: bool = False
    replaces: bool = False
    needed: bool = False
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """Flags by their names, and the kinds of arguments; the last one may be `repeated`.

    `numbers`: a number is a flag. `below`: what of its folders is read. `loose`: no flag does harm.
    """

    flags: dict[str, Flag] = field(default_factory=dict)
    kinds: tuple[str, ...] = ()
    repeated: bool = False
    numbers: bool = False
    below: Below = ""
    loose: bool = False

    @property
    def needs_flag(self) -> bool:
        return any(flag.needed for flag in self.flags.values())


@cache
def read_usage(line: str) -> Usage:
    """The usage that a line of `programs.py` describes."""
    left, _, right = line.rpartition(":")
    written = left.split()
    flags: dict[str, Flag] = {}
    for word in written:
        flags |= _flags(word) if word[0] == "-" and word != "-#" else {}
    kinds = right.split()
    return Usage(
        flags,
        tuple(kind.removesuffix("*") for kind in kinds),
        bool(kinds) and kinds[-1].endswith("*"),
        "-#" in written,
        "all" if "++" in written else "seen" if "+" in written else "",
        "~" in written,
    )


def _flags(word: str) -> dict[str, Flag]:
    bare = word.rstrip(_MARKS)
    marks = word[len(bare) :]
    optional = bare.endswith("]")
    name, _, kind = bare.rstrip("]").replace("[=", "=").partition("=")
    flag = Flag(kind, optional, "+" in marks, "^" in marks, "!" in marks, ">" in marks)
    together = not name.startswith("--") and not kind and not marks and len(name) > 2 and not _is_whole(name)
    return {f"-{letter}": flag for letter in name[1:]} if together else {name: flag}


def _is_whole(name: str) -> bool:
    """Flags of several letters behind one dash, which do not stand together as single ones."""
    return name in ("-uu", "-vv", "-uno", "-uall", "-unormal", "-sb", "-dumpversion", "-dumpmachine")
