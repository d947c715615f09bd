"""One mutant as a value: its place, the old code, and the new code."""

from collections.abc import Sequence

from msgspec import Struct

Lines = Sequence[tuple[int, int]]  # first and last line of each part, from 1; () means the whole file


class Mutant(Struct, frozen=True):
    """One fault in one file; everything outside its span stays byte for byte.

    `line` counts from 1, `start` is the byte offset of `before`. `statement` is the line on which its
    statement begins (coverage is told by that one), `within` the function or class around it.
    """

    path: str
    line: int
    before: str
    after: str
    operator: str
    start: int
    statement: int
    within: str = ""


def apply_mutant(source: bytes, mutant: Mutant) -> bytes:
    """The source with the fault in it. Raises ValueError where it no longer says `before`."""
    before, end = mutant.before.encode(), mutant.start + len(mutant.before.encode())
    if source[mutant.start : end] != before:
        raise ValueError(f"{mutant.path}:{mutant.line} no longer says {mutant.before!r}")
    return source[: mutant.start] + mutant.after.encode() + source[end:]


def keep_apart(source: bytes, start: int, end: int, after: str) -> str:
    """`after`, with a space where two words would become one: in `if(a)and b` the condition follows `if`."""
    left, right = source[max(0, start - 1) : start], source[end : end + 1]
    if not after:
        return " " if _is_word(left) and _is_word(right) else ""
    before = " " if _is_word(left) and _is_word(after[0].encode()) else ""
    return f"{before}{after}{' ' if _is_word(right) and _is_word(after[-1].encode()) else ''}"


def _is_word(char: bytes) -> bool:
    return char.isalnum() or char == b"_" or char >= b"\x80"


def show_mutant(source: bytes, mutant: Mutant) -> str:
    """The fault as a diff of the lines that it touches, for people and models."""
    first = source.rfind(b"\n", 0, mutant.start) + 1
    end = mutant.start + len(mutant.before.encode())
    last = source.find(b"\n", end)
    old = source[first : last if last >= 0 else len(source)]
    new = source[first : mutant.start] + mutant.after.encode() + source[end : first + len(old)]
    rows = [
        f"{sign} {row.rstrip()}"
        for sign, text in (("-", old), ("+", new))
        for row in text.decode("utf-8", "replace").split("\n")
    ]
    return "\n".join([f"{mutant.path}:{mutant.line} in {mutant.within or 'the module'}", *rows])
