"""Hold a program's words against its line of usage: each flag and each argument has to be known."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from msgspec import Struct, field

from kith.shell.argument_kinds import Below, Read, fault_of, is_path, path_fault, test_reads
from kith.shell.parse import Word
from kith.shell.programs import CONTENTS, HISTORY, PROGRAMS

_MARKS: Final = "+^!>"


class Flag(Struct, frozen=True):
    """The value of a flag: a kind ("" for none), and if only `=` can attach it (`optional`).

    `below`: what is in folders is read. `replaces`: it takes the place of the first argument. `needed`: the
    program only looks when it has one of these. `apart`: its value is always the next word.
    """

    kind: str = ""
    optional: bool = False
    below: bool = False
    replaces: bool = False
    needed: bool = False
    apart: bool = False


class UsageLine(Struct, frozen=True):
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
def read_usage(line: str) -> UsageLine:
    """The usage that a line of `programs.py` describes."""
    left, _, right = line.rpartition(":")
    written = left.split()
    flags: dict[str, Flag] = {}
    for word in written:
        flags |= _flags(word) if word[0] == "-" and word != "-#" else {}
    kinds = right.split()
    return UsageLine(
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
    """Flags of several letters behind one dash, which are not a group of single ones."""
    return name in ("-uu", "-vv", "-uno", "-uall", "-unormal", "-sb", "-dumpversion", "-dumpmachine")


# `find`, whose arguments are a small language: places, then tests; its actions run and write things.

# What stands alone, and what takes a value of a kind.
_ALONE: Final = (
    *("(", ")", "!", "-not", "-a", "-and", "-o", "-or", "-true", "-false", "-empty", "-daystart", "-depth"),
    *("-xdev", "-mount", "-prune", "-quit", "-print", "-print0", "-ls", "-readable", "-writable"),
    *("-executable", "-nouser", "-nogroup", "-noleaf"),
)
_VALUED: Final = {
    **dict.fromkeys(("-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"), "TEXT"),
    **dict.fromkeys(("-regex", "-iregex", "-lname", "-ilname", "-printf"), "TEXT"),
    **dict.fromkeys(
        ("-type", "-xtype", "-size", "-perm", "-regextype", "-user", "-group", "-fstype"), "WORD"
    ),
    **dict.fromkeys(("-maxdepth", "-mindepth", "-links", "-inum", "-uid", "-gid"), "NUMBER"),
    **dict.fromkeys(("-mtime", "-mmin", "-ctime", "-cmin", "-atime", "-amin", "-used"), "NUMBER"),
    **dict.fromkeys(("-newer", "-anewer", "-cnewer", "-samefile"), "PATH"),
}


def find_reads(words: Sequence[Word]) -> tuple[Read, ...] | str:
    """The places that `find` looks through for names, or what may do more than look."""
    reads, rest, begun = list[Read](), iter(words), False
    for word in rest:
        expression = word.text.startswith("-") or word.text in ("(", ")", "!")
        begun = begun or expression
        if not begun:
            if fault := path_fault(word) or _bare_glob(word):
                return fault
            reads.append(Read(word.text, word.glob))
        elif word.text in _VALUED and not word.glob:
            kind, value = _VALUED[word.text], next(rest, None)
            if value is None:
                return f"find {word.text} lacks its value"
            if value.glob:
                return f"find {word.text}: {value.text} can become several words"
            if fault := fault_of(kind, value):
                return f"find {word.text}: {fault}"
            reads += [Read(value.text)] if kind == "PATH" else []
        elif word.text not in _ALONE or word.glob:
            return f"find {word.text} is not known as read-only"
    return tuple(reads)


def _bare_glob(word: Word) -> str:
    return (
        f"{word.text} can become a flag; ./{word.text} cannot" if word.glob and word.text[0] in "*?" else ""
    )


# Hold a program's words against what it is permitted: each flag and each argument has to be known.

_HARMLESS_OF_GIT: Final = ("--no-pager", "--no-optional-locks")  # before the command's name


class NotPermittedError(Exception):
    """A program, a flag or an argument that may do more than look; its text says which, for a person."""


class Permitted(Struct, frozen=True):
    """The paths that a program reads. `settings`: also the repository's own, which may name programs.

    `git`: it is git, so that a repository is looked at.
    """

    reads: tuple[Read, ...] = ()
    git: bool = False
    settings: bool = False


def check(words: Sequence[Word], *, piped: bool = False) -> Permitted:
    """Return the paths that a read-only command reads; `piped`: its input comes from another program.

    Raises NotPermittedError for all others.
    """
    name, rest = words[0].text, words[1:]
    if name == "git":
        return _check_git(rest)
    if name == "find":
        return Permitted(_or_raise(find_reads(rest)))
    if name == "test":
        return Permitted(_or_raise(test_reads(rest)))
    if name not in PROGRAMS:
        raise NotPermittedError(f"{name} is not known as read-only")
    return Permitted(_check_usage(name, read_usage(PROGRAMS[name]), rest, piped))


def _or_raise(found: tuple[Read, ...] | str) -> tuple[Read, ...]:
    if isinstance(found, str):
        raise NotPermittedError(found)
    return found


def _check_git(words: Sequence[Word]) -> Permitted:
    """A command of git's own: options before its name, or another name, may run anything."""
    while words and words[0].text in _HARMLESS_OF_GIT:
        words = words[1:]
    name = " ".join(word.text for word in words[:2])
    known = [table for table in (HISTORY, CONTENTS) if name in table]
    rest = words[2:]
    if not known:
        name = name.partition(" ")[0]
        known, rest = [table for table in (HISTORY, CONTENTS) if name in table], words[1:]
    if not known:
        raise NotPermittedError(f"git {name} is not known as read-only".replace("  ", " "))
    for table in known:
        try:
            reads = _check_usage(f"git {name}", read_usage(table[name]), rest, False)
            return Permitted(reads, True, table is CONTENTS)
        except NotPermittedError:
            if table is known[-1]:
                raise
    raise AssertionError("one table knows it")


class _Given(Struct):
    """The arguments read so far; `loose`: no flag of the program does harm."""

    loose: bool
    arguments: list[Word] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    flags: list[Flag] = field(default_factory=list)


def _check_usage(name: str, usage: UsageLine, words: Sequence[Word], piped: bool) -> tuple[Read, ...]:
    given = _Given(usage.loose)
    rest = iter(words)
    takes_flags = usage.kinds != ("ANY",) and usage.kinds != ("FORMAT", "ANY")  # echo prints them
    for word in rest:
        if word.glob and word.text[:1] in "*?" and not usage.loose and takes_flags:
            raise NotPermittedError(f"{word.text} can become a flag; ./{word.text} cannot")
        if takes_flags and word.text == "--":
            given.arguments += rest
        elif takes_flags and word.text.startswith("-") and word.text != "-":
            _take_flag(name, usage, word, rest, given)
        else:
            given.arguments.append(word)
    if usage.needs_flag and not any(flag.needed for flag in given.flags):
        raise NotPermittedError(f"{name} may run something, or wait for words")
    return (*given.reads, *_arguments(name, usage, given, piped))


def _take_flag(name: str, usage: UsageLine, word: Word, rest: Iterator[Word], given: _Given) -> None:
    """Look a flag up, with its value; short ones may be grouped."""
    written, equals, value = word.text.partition("=")
    if written.startswith("--"):
        flag = _known(name, usage, written)
        if equals and not flag.kind:
            raise NotPermittedError(f"{name} {written} takes no value")
        _give(name, written, flag, Word(value, word.glob) if equals else None, rest, given)
        return
    if word.text in usage.flags:
        _give(name, word.text, usage.flags[word.text], None, rest, given)
        return
    if usage.numbers and word.text[1:].isdecimal() and word.text.isascii():
        return
    for place in range(1, len(word.text)):
        short = f"-{word.text[place]}"
        flag, behind = _known(name, usage, short), word.text[place + 1 :]
        _give(name, short, flag, Word(behind, word.glob) if flag.kind and behind else None, rest, given)
        if flag.kind:
            return


def _known(name: str, usage: UsageLine, written: str) -> Flag:
    if written not in usage.flags:
        raise NotPermittedError(f"{name} {written} is not known as read-only")
    return usage.flags[written]


def _give(
    name: str, written: str, flag: Flag, value: Word | None, rest: Iterator[Word], given: _Given
) -> None:
    given.flags.append(flag)
    if not flag.kind:
        return
    if value is None and not flag.optional:
        value = next(rest, None)
        if value is None:
            raise NotPermittedError(f"{name} {written} lacks its value")
        # Another version of the program may take it for a flag: some want a value behind `=` only.
        if value.text.startswith("-") and flag.kind != "NUMBER" and not given.loose:
            raise NotPermittedError(f"{name} {written}: {value.text} looks like a flag")
    elif value is not None and flag.apart:
        raise NotPermittedError(f"{name} {written} may take the next word for its value")
    if value is not None:
        _check_single(name, value)
        given.reads += _reads(name, flag.kind, value, "")


def _check_single(name: str, word: Word) -> None:
    """Raises NotPermittedError for a glob where one word is meant: a second one would mean something else."""
    if word.glob:
        raise NotPermittedError(f"{name}: {word.text} can become several words")


def _arguments(name: str, usage: UsageLine, given: _Given, piped: bool) -> Iterator[Read]:
    kinds = list(usage.kinds)
    if any(flag.replaces for flag in given.flags):
        kinds = kinds[1:]
    below: Below = "all" if any(flag.below for flag in given.flags) else usage.below
    single = len(kinds) - usage.repeated
    if usage.repeated:
        kinds += kinds[-1:] * (len(given.arguments) - len(kinds))
    if len(given.arguments) > len(kinds):
        raise NotPermittedError(f"{name} may change something with {given.arguments[len(kinds)].text}")
    for word in given.arguments[:single]:
        _check_single(name, word)
    for kind, word in zip(kinds, given.arguments, strict=False):
        yield from _reads(name, kind, word, below)
    named = any(is_path(kind) for kind, _ in zip(kinds, given.arguments, strict=False))
    if below and not named and not (piped and below == "seen"):
        yield Read(".", below=below)


def _reads(name: str, kind: str, word: Word, below: Below) -> Iterator[Read]:
    if fault := fault_of(kind, word):
        raise NotPermittedError(fault if is_path(kind) else f"{name}: {fault}")
    if is_path(kind):
        yield Read(_place(kind, word.text), word.glob, below)
    elif word.glob:
        yield Read(word.text, True)


def _place(kind: str, text: str) -> str:
    """The path that a word names; the whole tree for one of git's patterns, which may mean any file in it."""
    if kind == "PATH":
        return text
    if text.startswith(":") or set(text) & set("*?["):
        return "."
    return text.rpartition(":")[2] if kind == "REV" else text
