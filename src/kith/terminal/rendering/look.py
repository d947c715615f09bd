"""How one terminal shows things: which signs it has, and which colours."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, Self

from kith.terminal.rendering.glyphs import UNICODE, Glyphs, choose_glyphs
from kith.terminal.rendering.palette import Palette, Theme, choose_palette, paint
from kith.terminal.rendering.spans import Line


@dataclass(frozen=True, slots=True)
class Look:
    """Signs and colours that go together."""

    glyphs: Glyphs = UNICODE
    palette: Palette = Palette()

    @classmethod
    def choose(cls, theme: Theme = "auto") -> Self:
        """What the terminal on stdout can show."""
        return cls.of(sys.stdout, sys.stdout.isatty(), theme)

    @classmethod
    def of(cls, stream: IO[str], is_terminal: bool, theme: Theme = "auto") -> Self:
        """What a stream can show."""
        return cls(choose_glyphs(stream), choose_palette(theme, is_terminal))

    @property
    def is_plain(self) -> bool:
        """True where words are all that can be shown: no colours, no bold."""
        return self.palette.depth == 0

    def paint(self, lines: Iterable[Line]) -> str:
        """Lines as a text for the terminal, each with its end."""
        return paint(lines, self.palette)
