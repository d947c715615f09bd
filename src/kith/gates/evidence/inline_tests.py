"""Tell the tests that a source file of Rust holds from its code."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from kith.core.patterns import lazy_pattern
from kith.core.values import Change
from kith.gates.untouched import is_test_file

# The attributes of a test or of what is compiled for tests alone, with those above it.
_TEST: Final = lazy_pattern(
    r"^(?:[ \t]*#\[[^\n]*\n)*[ \t]*#\[(?:cfg\((?![^\n]*\bnot\(test\b)[^\n]*\btest\b"
    r"|(?:\w+::)*(?:test|rstest|proptest|test_case|quickcheck)\b)",
    re.M,
)
# Comments and literals, which may hold brackets, and the marks that tell where an item ends.
_TOKEN: Final = lazy_pattern(
    r"""//[^\n]*|/\*.*?\*/|\br(#*)".*?"\1|"(?:[^"\\]|\\.)*"|'(?:[^'\\\n]|\\[^\n][^'\n]{0,8})'|[][(){};]""",
    re.S,
)


def holds_tests(path: str, text: str) -> bool:
    """True if a source has tests of its own."""
    return path.endswith(".rs") and bool(_TEST.search(text))


def edits_tests(change: Change) -> bool:
    """True if a change alters the tests that its source had; what it adds may alter these, too."""
    then, now = _sides(change)
    old = _lines(then)
    return bool(old) and old != _lines(now)


def with_old_tests(change: Change) -> Change | None:
    """The change of a source's code alone, with its tests as they were; None where nothing else changes."""
    if not edits_tests(change):
        return None
    then, now = _sides(change)
    if _without(then).split() == _without(now).split():
        return None
    tests = "\n\n".join(then[start:end] for start, end in _places(then))
    text = f"{_without(now).rstrip()}\n\n{tests}\n"
    return replace(change, after=text.encode("utf-8", "surrogateescape"))


def text_of_tests(path: str, source: bytes | None) -> str:
    """The tests that a source of Rust holds; of any other file all of it."""
    text = (source or b"").decode("utf-8", "replace")
    return "\n".join(_lines(text)) if path.endswith(".rs") and not is_test_file(path) else text


def _sides(change: Change) -> tuple[str, str]:
    if not change.path.endswith(".rs") or is_test_file(change.path) or change.after is None:
        return "", ""
    then, now = (side.decode("utf-8", "surrogateescape") for side in (change.before or b"", change.after))
    return then.replace("\r\n", "\n"), now.replace("\r\n", "\n")


def _places(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the items that are tests or hold some; each ends at its last bracket."""
    end = 0
    while found := _TEST.search(text, end):
        start = found.start()
        end = _end_of_item(text, start)
        yield start, end


def _end_of_item(text: str, start: int) -> int:
    depth = 0
    for token in _TOKEN.finditer(text, start):
        mark = token[0]
        depth += (mark in "([{") - (mark in ")]}")
        if depth <= 0 and mark in ";}":
            return token.end()
    return len(text)


def _without(text: str) -> str:
    kept, last = list[str](), 0
    for start, end in _places(text):
        kept.append(text[last:start])
        last = end
    return "".join([*kept, text[last:]])


def _lines(text: str) -> list[str]:
    """The lines of all tests, however they are indented."""
    items = (text[start:end] for start, end in _places(text))
    return [line for item in items for each in item.splitlines() if (line := each.strip())]
