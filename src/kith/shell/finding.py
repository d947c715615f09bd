"""`find`, whose arguments are a small language: places, then tests; its actions run and write things."""

from collections.abc import Sequence
from typing import Final

from kith.shell.kinds import Read, fault_of, path_fault
from kith.shell.parse import Word

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
            return f"find {word.text} is none of the tests that kith knows to look only"
    return tuple(reads)


def _bare_glob(word: Word) -> str:
    return (
        f"{word.text} can become a flag; ./{word.text} cannot" if word.glob and word.text[0] in "*?" else ""
    )
