"""The code to be tested: a file, some of its definitions, or the lines that a change touched."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from kith.context.symbols import find_symbols
from kith.core.errors import TreeError, UsageError
from kith.core.values import Change
from kith.core.workspace import Workspace
from kith.edits import split_hunks
from kith.features.testgen.mutants import Lines, can_mutate


@dataclass(frozen=True, slots=True)
class CodeUnderTest:
    """A file as it is, the lines of it that matter (() for all), and their names ("" for the whole file)."""

    path: str
    source: bytes
    lines: Lines = ()
    name: str = ""

    @property
    def text(self) -> str:
        return self.source.decode("utf-8", "replace")

    @property
    def label(self) -> str:
        """The name that a person would use."""
        return f"{self.path}::{self.name}" if self.name else self.path

    def holds(self, line: int) -> bool:
        return not self.lines or any(first <= line <= last for first, last in self.lines)


async def find_target(tree: Workspace, words: str) -> CodeUnderTest:
    """The target that `file`, `file::function` or `file:Class.method` means. Raises UsageError."""
    path, name = _split(words)
    try:
        source = await tree.read(path)
    except TreeError as error:
        raise UsageError(f"There is nothing to test at {path!r}: {error}.") from error
    if not can_mutate(path):
        raise UsageError(
            f"{path} is in a language that kith cannot judge tests of; it knows Python, C and C++."
        )
    if not name:
        return CodeUnderTest(path, source)
    wanted = name.replace("::", ".")
    symbols = find_symbols(path, source.decode("utf-8", "replace"))
    known = {symbol.name.replace("::", "."): symbol for symbol in symbols}
    found = [symbol for key, symbol in known.items() if key == wanted or key.endswith(f".{wanted}")]
    if not found:
        close = difflib.get_close_matches(wanted, known, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; there are: {', '.join(list(known)[:8])}."
        raise UsageError(f"{path} defines no {name!r}{hint}")
    return CodeUnderTest(path, source, tuple((symbol.first, symbol.last) for symbol in found), name)


def target_of_change(change: Change) -> CodeUnderTest | None:
    """The lines that a change added or changed; None where there are none that could be tested."""
    if change.after is None or not can_mutate(change.path):
        return None
    lines = tuple((row, row) for row in _new_rows(change))
    symbols = find_symbols(change.path, change.after.decode("utf-8", "replace"))
    touched = [each.name for each in symbols if any(each.first <= row <= each.last for row, _ in lines)]
    inner = [name for name in touched if not any(other.startswith(f"{name}.") for other in touched)]
    return CodeUnderTest(change.path, change.after, lines, ", ".join(dict.fromkeys(inner))) if lines else None


def _new_rows(change: Change) -> Iterator[int]:
    for hunk in split_hunks(change):
        row = hunk.new_start or 1
        for line in hunk.lines:
            if line.startswith("+"):
                yield row
            row += line[:1] in ("+", " ")


def _split(words: str) -> tuple[str, str]:
    """`file::name`, `file:name`; a file's own name may hold no colon here."""
    path, _, name = words.partition(":")
    return path.removeprefix("./"), name.lstrip(":")
