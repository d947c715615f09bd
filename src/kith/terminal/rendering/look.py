"""The look of one terminal: its signs, and the colour of each role."""

import os
import sys
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import IO, TYPE_CHECKING, Final, Literal, NamedTuple, Self

from msgspec import Struct

from kith.terminal.rendering.glyphs import UNICODE, Glyphs, choose_glyphs
from kith.terminal.rendering.spans import Line, Span

if TYPE_CHECKING:
    from rich.text import Text


# What each role looks like: in the terminal's own colours, in dark or light ones, or without any.

Theme = Literal["auto", "dark", "light", "none"]
Depth = Literal[0, 1, 4, 8, 24]  # bits of a colour; 1: no colours but bold and dim, 0: nothing at all


class Style(NamedTuple):
    """Colours, as a number from 0 to 7 that the terminal's own theme decides or as `rrggbb`, and shapes.

    "-" takes the colour away that another role gave.
    """

    fg: str = ""
    bg: str = ""
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False
    strike: bool = False


_SHAPES: Final = ("bold", "dim", "italic", "underline", "reverse", "strike")
_CODES: Final = {"bold": 1, "dim": 2, "italic": 3, "underline": 4, "reverse": 7, "strike": 9}
_BASE: Final = {
    "strong": Style(bold=True),
    "emphasis": Style(italic=True),
    "struck": Style(strike=True),
    "code": Style("6"),
    "link": Style(underline=True),
    "link.url": Style("4"),
    "heading1": Style("5", bold=True),
    "heading2": Style("5", bold=True),
    "heading3": Style(bold=True),
    "heading4": Style(bold=True),
    "heading5": Style(bold=True),
    "heading6": Style(bold=True),
    "item": Style("6"),
    "quote": Style(dim=True),
    "rule": Style(dim=True),
    "dim": Style(dim=True),
    "thinking": Style(dim=True, italic=True),
    "code.keyword": Style("5"),
    "code.string": Style("2"),
    "code.comment": Style(dim=True, italic=True),
    "code.number": Style("6"),
    "code.name": Style("4"),
    "diff.added": Style("2"),
    "diff.removed": Style("1"),
    "diff.added.word": Style("2", reverse=True),
    "diff.removed.word": Style("1", reverse=True),
    "diff.stayed": Style("-"),  # without backgrounds, colours are left to what changed
    "diff.number": Style(dim=True),
    "diff.place": Style("6"),
    "diff.path": Style(bold=True),
    "good": Style("2"),
    "bad": Style("1"),
    "note": Style("3"),
    "title": Style(bold=True),
    "accent": Style("6"),
    "bar": Style("6"),
    "bar.free": Style(dim=True),
    "bar1": Style("6"),
    "bar2": Style("4"),
    "bar3": Style("5"),
    "bar4": Style("2"),
    "bar5": Style("3"),
    "bar6": Style("1"),
}
_STAYED: Final = {
    "diff.stayed": Style(),
    "diff.added.sign": Style(bold=True),
    "diff.removed.sign": Style(bold=True),
}
# Backgrounds of what was added and removed, and of their changed words; 256 colours have no dark greens and
# reds but a few, so those are named apart.
_GROUNDS: Final[dict[tuple[str, bool], tuple[str, str, str, str]]] = {
    ("dark", True): ("12261e", "2d1618", "1f5c33", "7a2327"),
    ("dark", False): ("005f00", "5f0000", "008700", "af0000"),
    ("light", True): ("e6ffec", "ffebe9", "abf2bc", "ffc0bb"),
    ("light", False): ("d7ffd7", "ffd7d7", "afffaf", "ffafaf"),
}
_ON_GROUNDS: Final = {"dark": "ffffff", "light": "000000"}  # words without a colour of their own


class Palette(Struct, frozen=True):
    """Turns lines of roles into what a terminal or rich takes."""

    theme: Theme = "auto"
    depth: Depth = 4

    def style(self, role: str) -> Style:
        """Merge the styles of several roles; the later ones win."""
        return _style(self.theme, self.depth, role)

    @property
    def has_grounds(self) -> bool:
        """True where rows of a diff have backgrounds, which must suit the terminal's own."""
        return (self.theme, self.depth == 24) in _GROUNDS and self.depth >= 8

    def _seen(self, line: Iterable[Span]) -> list[Span]:
        """A line without the blanks at its end that nobody sees, as they have no colour."""
        spans = list(line)
        while spans and spans[-1].text.isspace() and not self._is_filled(spans[-1].role):
            spans.pop()
        return spans

    def _is_filled(self, role: str) -> bool:
        style = self.style(role)
        return bool(style.bg or style.reverse or style.underline)

    def ansi(self, line: Iterable[Span]) -> str:
        """A line with the terminal's escape sequences; foreign text in it holds none."""
        return "".join(_painted(self.theme, self.depth, text, role) for text, role in self._seen(line))

    def text(self, line: Iterable[Span]) -> "Text":
        """A line as rich takes it."""
        from rich.text import Text

        parts = [(text, _rich(self.theme, self.depth, role)) for text, role in self._seen(line)]
        return Text.assemble(*parts, end="", no_wrap=True, overflow="ignore")


def choose_palette(
    theme: Theme = "auto", is_terminal: bool = True, env: Mapping[str, str] | None = None
) -> Palette:
    """The palette for a terminal, by what it says of itself; NO_COLOR leaves bold and dim.

    Where its environment does not say how bright its background is, that is dark.
    """
    env = os.environ if env is None else env
    term = env.get("TERM", "")
    if theme == "auto":
        background = env.get("COLORFGBG", "").rpartition(";")[2]
        theme = "light" if background in ("7", *map(str, range(9, 16))) else "dark"
    return Palette(theme, _depth(theme, term, is_terminal, env))


def _depth(theme: Theme, term: str, is_terminal: bool, env: Mapping[str, str]) -> Depth:
    if not is_terminal or term in ("dumb", "unknown", ""):
        return 0
    if env.get("NO_COLOR") or theme == "none":
        return 1
    if env.get("COLORTERM", "") in ("truecolor", "24bit") or term.endswith("-direct"):
        return 24
    return 8 if "256" in term or "kitty" in term or "alacritty" in term else 4


@lru_cache(2048)
def _style(theme: Theme, depth: Depth, roles: str) -> Style:
    """Roles in one style; a colour that the terminal does not have is left out."""
    if depth == 0:
        return Style()
    table = _table(theme, depth)
    found = Style()
    for role in roles.split():
        style = table.get(role, Style())
        found = Style(style.fg or found.fg, style.bg or found.bg, *map(max, found[2:], style[2:]))
    return found._replace(fg="", bg="") if depth == 1 else found._replace(fg=found.fg.strip("-"))


@cache
def _table(theme: Theme, depth: Depth) -> Mapping[str, Style]:
    grounds = _GROUNDS.get((theme, depth == 24)) if depth >= 8 else None
    if grounds is None:
        return _BASE
    added, removed, added_word, removed_word = grounds
    words = Style(_ON_GROUNDS[theme])
    return (
        _BASE
        | _STAYED
        | {
            "diff.added.text": words,
            "diff.removed.text": words,
            "diff.added": Style(bg=added),
            "diff.removed": Style(bg=removed),
            "diff.added.word": Style(words.fg, added_word, bold=True),
            "diff.removed.word": Style(words.fg, removed_word, bold=True),
        }
    )


@lru_cache(4096)
def _codes(theme: Theme, depth: Depth, role: str) -> str:
    style = _style(theme, depth, role)
    codes = [str(_CODES[shape]) for shape in _SHAPES if getattr(style, shape)]
    codes += [_colour(style.fg, depth, 30)] if style.fg else []
    codes += [_colour(style.bg, depth, 40)] if style.bg else []
    return ";".join(codes)


def _colour(colour: str, depth: Depth, base: int) -> str:
    if len(colour) < 3:
        return str(base + int(colour))
    red, green, blue = (int(colour[at : at + 2], 16) for at in (0, 2, 4))
    if depth == 24:
        return f"{base + 8};2;{red};{green};{blue}"
    levels = (0, 95, 135, 175, 215, 255)  # of the cube among the 256 colours
    return f"{base + 8};5;{16 + 36 * levels.index(red) + 6 * levels.index(green) + levels.index(blue)}"


def _painted(theme: Theme, depth: Depth, text: str, role: str) -> str:
    codes = _codes(theme, depth, role) if role else ""
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


@lru_cache(2048)
def _rich(theme: Theme, depth: Depth, role: str) -> str:
    style = _style(theme, depth, role)
    parts = [shape for shape in _SHAPES if getattr(style, shape)]
    for key, colour in (("", style.fg), ("on ", style.bg)):
        if colour:
            parts.append(f"{key}{f'#{colour}' if len(colour) > 2 else f'color({colour})'}")
    return " ".join(parts)


def paint(lines: Iterable[Line], palette: Palette) -> str:
    """Lines as a text for a terminal, each with its end."""
    return "".join(f"{palette.ansi(line)}\n" for line in lines)


class Look(Struct, frozen=True):
    """Signs and colours that go together."""

    glyphs: Glyphs = UNICODE
    palette: Palette = Palette()

    @classmethod
    def choose(cls, theme: Theme = "auto") -> Self:
        """The abilities of the terminal on stdout."""
        return cls.of(sys.stdout, sys.stdout.isatty(), theme)

    @classmethod
    def of(cls, stream: IO[str], is_terminal: bool, theme: Theme = "auto") -> Self:
        """The abilities of a stream."""
        return cls(choose_glyphs(stream), choose_palette(theme, is_terminal))

    @property
    def is_plain(self) -> bool:
        """True where words are all that can be shown: no colours, no bold."""
        return self.palette.depth == 0

    def paint(self, lines: Iterable[Line]) -> str:
        """Lines as a text for the terminal, each with its end."""
        return paint(lines, self.palette)
