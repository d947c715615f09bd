"""One Python file, parsed: the places of its nodes, and edits that leave every other byte alone."""

import ast
import io
import re
import tokenize
import warnings
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from kith.core.errors import UsageError

_LINE_END: Final = re.compile(r"\r\n|\r|\n")


class Splice(Struct, frozen=True):
    """The text from `start` to `end` (offsets in characters) becomes `text`."""

    start: int
    end: int
    text: str


class PythonSource(Struct, frozen=True):
    """A Python file: its text and tree, the offset at which each line starts, how its bytes are written."""

    path: str
    text: str
    tree: ast.Module
    starts: tuple[int, ...]
    codec: str

    def offset(self, line: int, column: int) -> int:
        """The offset of a place as `ast` names it: line from 1, column in bytes of UTF-8."""
        start = self.starts[line - 1]
        end = self.starts[line] if line < len(self.starts) else len(self.text)
        row = self.text[start:end]
        return start + (column if row.isascii() else len(row.encode()[:column].decode(errors="replace")))

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The offsets of a node's start and end; decorators of a definition are not part of it."""
        first = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        return first, self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def cut(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.text[start:end]

    def line_of(self, offset: int) -> int:
        """The line, from 1, that an offset lies in."""
        return bisect_right(self.starts, offset)

    def line_start(self, line: int) -> int:
        """The offset at which a line starts; the line after the last starts at the text's end."""
        return self.starts[line - 1] if line <= len(self.starts) else len(self.text)

    def say(self, offset: int) -> str:
        """A place for people: `path:line`."""
        return f"{self.path}:{self.line_of(offset)}"

    @property
    def newline(self) -> str:
        """The line terminator of the first line."""
        found = _LINE_END.search(self.text)
        return found[0] if found else "\n"


def read_source(path: str, content: bytes) -> PythonSource:
    """Parse a file. Raises UsageError when it does not parse, or its bytes cannot be kept."""
    try:
        codec, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(codec)
        kept = text.encode(codec) == content
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise UsageError(f"{path} is not a text that can be read: {error}.") from None
    if not kept:
        raise UsageError(f"{path} is written in {codec} in a way that cannot be kept.")
    starts = (0, *(match.end() for match in _LINE_END.finditer(text)))
    return PythonSource(path, text, _parse(path, text), starts, codec)


def _parse(path: str, text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a foreign file's invalid escapes are not our news
            return ast.parse(text)
    except SyntaxError as error:
        raise UsageError(f"{path}:{error.lineno} does not parse: {error.msg}.") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{path} does not parse: {error}.") from None


def apply_splices(source: PythonSource, splices: Iterable[Splice]) -> bytes:
    """The file with its splices; the text between them stays, byte for byte.

    Raises UsageError when the result would not parse, or cannot be written in the file's encoding.
    """
    parts, end = [], 0
    for splice in sorted(set(splices), key=lambda each: (each.start, each.end)):
        if splice.start < end:
            raise UsageError(f"{source.say(splice.start)}: two edits meet here, so nothing was changed.")
        parts += [source.text[end : splice.start], splice.text]
        end = splice.end
    text = "".join([*parts, source.text[end:]])
    try:
        _parse(source.path, text)
        return text.encode(source.codec)
    except UsageError as error:
        raise UsageError(f"Nothing was changed, since the result would be broken: {error}") from None
    except UnicodeEncodeError:
        raise UsageError(
            f"{source.path} is written in {source.codec}, which cannot hold the result."
        ) from None
