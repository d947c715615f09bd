"""A model's thoughts: their last lines while it thinks, one line when it is done, all of them on demand."""

from typing import Final

from kith.terminal.rendering.glyphs import UNICODE, Glyphs
from kith.terminal.rendering.spans import MARGIN, Line, Span, readable, wrap
from kith.view.lines import count

_LINES: Final = 3  # that are seen while it thinks
_MOST: Final = 400_000  # characters that are kept


class Thinking:
    """Thoughts as they arrive. `tail` draws their end, `summary` is what stays when they are over."""

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        self._glyphs = glyphs
        self._pieces: list[str] = []
        self._end = ""  # the last characters, which are drawn
        self._words = self._size = 0
        self._in_word = False

    @property
    def text(self) -> str:
        """All thoughts, or as many of them as are kept."""
        return "".join(self._pieces)

    def take(self, piece: str) -> None:
        """One more piece of them."""
        if self._size <= _MOST:
            self._pieces.append(piece)
        self._size += len(piece)
        self._end = (self._end + piece)[-2_000:]
        begun = len(piece.split())
        self._words += begun - (self._in_word and begun > 0 and not piece[:1].isspace())
        self._in_word = not piece[-1:].isspace() if piece else self._in_word

    def tail(self, width: int, most: int = _LINES) -> list[Line]:
        """The last lines, dim."""
        spans = [Span(readable(line), "thinking") for line in self._end.split("\n") if line.strip()]
        lines = [line for span in spans for line in wrap([span], width, MARGIN, MARGIN)]
        return lines[-most:]

    def summary(self, seconds: float, key: str = "Ctrl-O") -> Line:
        """`· thought for 12 s, 340 words (Ctrl-O)`."""
        how_long = f"{seconds:.0f} s" if seconds >= 1 else "a moment"
        opens = f"  ({key})" if key else ""
        words = f"{self._glyphs.note} thought for {how_long}, {count(self._words, 'word')}{opens}"
        return (Span(words, "dim"),)

    def lines(self, width: int) -> list[Line]:
        """All of it, for who wants to read it."""
        spans = [Span(readable(line), "dim") for line in self.text.split("\n")]
        return [line for span in spans for line in wrap([span], width, MARGIN, MARGIN)]
