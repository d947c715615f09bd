"""One exact replacement in one file, as the edit tool makes it: part of a line, or many lines."""

from bisect import bisect_left

from kith.edits import letter
from kith.edits.diffing import hunk_between
from kith.edits.forms import EditError
from kith.edits.paths import check_path
from kith.edits.rows import BOM, decode, encode, is_binary, split_keys, split_rows, terminator
from kith.edits.splice import apply_hunks


def replace_text(content: bytes, old: str, new: str, path: str, all_matches: bool = False) -> bytes:
    """The file's content with `new` in the place of `old`, which must stand there exactly once.

    With `all_matches`, every occurrence is replaced. Line terminators are the file's, whatever `old` and
    `new` have; whole lines may be evenly indented more or less than in the file. Raises EditError, a
    letter to the model.
    """
    check_path(path)
    if is_binary(content) or "\0" in new:
        raise EditError(f"{path} is a binary file; only text can be edited.")
    text = decode(content)
    view = _View(text)
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise EditError(f"The text to replace in {path} is empty. Send the text that stands there now.")
    if old == new:
        raise EditError(f"The old and the new text for {path} are the same, so there is nothing to change.")
    starts = view.find(old)
    if not starts:
        return encode(_replace_rows(text, old, new, path))
    if len(starts) > 1 and not all_matches:
        raise EditError(_too_often(view, starts, path))
    if len(starts) == 1 and view.has_around(starts[0], old, new):
        raise EditError(f"In {path}, {letter.ALREADY}")
    return encode(view.put(starts, len(old), new))


class _View:
    """A text as it reads without carriage returns, and the way back to where each character stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.plain = text.replace("\r\n", "\n")
        rows = split_rows(text)
        self.end = terminator([], rows)
        self.returns: list[int] = []  # where, in `plain`, the newlines with a carriage return stand
        position = 0
        for row in rows:
            position += len(row) - row.endswith("\r\n")
            if row.endswith("\r\n"):
                self.returns.append(position - 1)

    def find(self, wanted: str) -> list[int]:
        """Where `wanted` begins in `plain`; occurrences do not overlap."""
        found, at = [], self.plain.find(wanted)
        while at >= 0:
            found.append(at)
            at = self.plain.find(wanted, at + len(wanted))
        return found

    def put(self, starts: list[int], size: int, new: str) -> str:
        out, done = [], 0
        for start in starts:
            first, last = self._index(start), self._index(start + size)
            out += [self.text[done:first], new.replace("\n", self._terminator(first, last))]
            done = last
        return "".join([*out, self.text[done:]])

    def has_around(self, start: int, old: str, new: str) -> bool:
        """True when `old` already stands in the middle of what would replace it."""
        at = new.find(old)
        return at >= 0 and start >= at and self.plain.startswith(new, start - at)

    def line(self, start: int) -> int:
        """The line, from 0, in which a position of `plain` lies."""
        return self.plain.count("\n", 0, start)

    def _index(self, position: int) -> int:
        return position + bisect_left(self.returns, position)

    def _terminator(self, first: int, last: int) -> str:
        """The terminator of the replaced lines, or the file's where none was replaced."""
        return terminator(split_rows(self.text[first:last]), [self.end])


def _replace_rows(text: str, old: str, new: str, path: str) -> str:
    """The same by whole lines, which may be indented otherwise than in the file."""
    hunk = hunk_between(split_keys(old), split_keys(new))
    try:
        return apply_hunks(text, [hunk])
    except EditError as error:
        hint = "" if text.removeprefix(BOM) else " The file is empty."
        raise EditError(f"{path} was not changed: {error}{hint}") from None


def _too_often(view: _View, starts: list[int], path: str) -> str:
    rows = [view.line(start) for start in starts[: letter.LISTED + 1]]
    return (
        f"{path} was not changed: the text stands there {len(starts)} times, at lines {letter.listed(rows)}. "
        "Send more of the text around the one you mean, or ask for all of them."
    )
