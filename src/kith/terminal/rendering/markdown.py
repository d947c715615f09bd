"""Markdown as it arrives: lines that are finished for good, and the end of the text as it looks so far."""

from typing import Final

from kith.terminal.rendering.blocks import LONGEST, Blocks
from kith.terminal.rendering.glyphs import UNICODE, Glyphs
from kith.terminal.rendering.spans import MARGIN, READABLE, Line, columns_of, set_in

_TAIL: Final = 12  # lines


class MarkdownStream:
    """A reply in pieces. What `take` and `end` return never changes again; `tail` is what they keep back.

    In whatever pieces a text comes, its lines are the same. The work for a piece does not grow with the text.
    `width` counts columns and may be set at any time, for lines to come; lines of code keep their length.
    """

    def __init__(
        self, width: int, glyphs: Glyphs = UNICODE, *, tail: int = _TAIL, marks: bool = False
    ) -> None:
        self._blocks = Blocks(width, glyphs, marks)
        self._partial: list[str] = []  # the last line, in pieces
        self._held = self._enough = 0  # its characters, and how many make another look at it worth while
        self._inside = False  # the beginning of the last line is in its paragraph already
        self._most = tail

    @property
    def width(self) -> int:
        """The columns of a line."""
        return self._blocks.width

    @width.setter
    def width(self, columns: int) -> None:
        self._blocks.width = columns

    def take(self, piece: str) -> list[Line]:
        """The lines that one more piece of the text finished."""
        *whole, rest = piece.replace("\r", "").split("\n")
        for line in whole:
            self._end_line(line)
        if rest and self._inside:
            self._blocks.go_on(rest)
        elif rest:
            self._partial.append(rest)
            self._held += len(rest)
            if self._held > max(self.width, self._enough):
                self._open_line()
        return self._blocks.finished()

    def end(self) -> list[Line]:
        """Return the rest at the end of a text. Another one may follow."""
        if self._partial or self._inside:
            self._end_line("")
        self._blocks.close()
        lines = self._blocks.finished()
        self._blocks = Blocks(self._blocks.width, self._blocks.glyphs, self._blocks.marks)
        return lines

    @property
    def tail(self) -> list[Line]:
        """The lines of the unfinished block, to be drawn in place: its last ones, if it is long."""
        ghost = self._blocks.ghost()
        if self._partial:
            ghost.preview("".join(self._partial))
        ghost.close(ended=False)
        return ghost.finished()[-self._most :]

    def _end_line(self, rest: str) -> None:
        line = "".join([*self._partial, rest])
        self._partial.clear()
        self._held = self._enough = 0
        if self._inside:
            self._blocks.go_on(rest)
        elif len(line) <= LONGEST or not self._blocks.take_words(line):
            self._blocks.take(line)
        self._inside = False

    def _open_line(self) -> None:
        """A long line of words does not wait for its end."""
        line = "".join(self._partial)
        if self._blocks.take_words(line):
            self._partial.clear()
            self._inside = True
        else:
            self._enough = 2 * len(line)


def render_markdown(text: str, width: int, glyphs: Glyphs = UNICODE, *, marks: bool = False) -> list[Line]:
    """A whole text as lines."""
    stream = MarkdownStream(width, glyphs, marks=marks)
    return [*stream.take(text), *stream.end()]


def room_for(width: int) -> int:
    """The columns of a model's words in a conversation, whose first ones are kith's own."""
    return min(width, READABLE) - columns_of(MARGIN)


def render_said(text: str, width: int, glyphs: Glyphs = UNICODE) -> list[Line]:
    """A model's message in a conversation, as lines behind its margin."""
    return set_in(render_markdown(text, room_for(width), glyphs))
