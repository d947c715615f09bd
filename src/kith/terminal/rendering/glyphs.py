"""The signs of the screen, for terminals that show Unicode and for those that do not."""

import locale
import os
import sys
from collections.abc import Mapping
from typing import IO, Final

from msgspec import Struct

_SIGNS: Final = (
    "good",
    "bad",
    "note",
    "more",
    "arrow",
    "todo",
    "active",
    "done",
)  # that lines of events hold
_BARE_TERMS: Final = ("dumb", "linux", "vt100", "vt220", "cons25", "unknown")


class Glyphs(Struct, frozen=True):
    """One sign for each thing; `spinner` holds the frames of what moves, `shades` the parts of a bar."""

    bullet: str = "•"
    quote: str = "│"
    rule: str = "─"
    cross: str = "┼"
    column: str = "│"
    good: str = "✓"
    bad: str = "✗"
    note: str = "·"
    warning: str = "!"
    prompt: str = "❯"
    todo: str = "☐"
    active: str = "▸"
    done: str = "☑"
    more: str = "…"
    arrow: str = "→"
    reached: str = "━"
    ahead: str = "╌"
    filled: str = "█"
    free: str = "░"
    shades: str = "█▓▒"
    wrapped: str = "↪"
    spinner: str = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

    def spelled(self, text: str) -> str:
        """Words of kith's own with the signs that the terminal has."""
        if self is UNICODE or text.isascii():
            return text
        return text.translate({ord(getattr(UNICODE, name)): getattr(self, name) for name in _SIGNS})


UNICODE: Final = Glyphs()
ASCII: Final = Glyphs(
    bullet="-",
    quote="|",
    rule="-",
    cross="+",
    column="|",
    good="+",
    bad="x",
    note="-",
    warning="!",
    prompt=">",
    todo="[ ]",
    active="[>]",
    done="[x]",
    more="~",
    arrow=">",
    reached="=",
    ahead=".",
    filled="#",
    free=".",
    shades="#=+*%@",
    wrapped="\\",
    spinner="|/-\\",
)


def choose_glyphs(stream: IO[str] | None = None, environment: Mapping[str, str] | None = None) -> Glyphs:
    """Unicode where the stream's encoding and the terminal can show it."""
    environment = os.environ if environment is None else environment
    stream = sys.stdout if stream is None else stream
    encoding = getattr(stream, "encoding", None) or locale.getpreferredencoding(False)
    if environment.get("TERM", "").partition("-")[0] in _BARE_TERMS:
        return ASCII
    return UNICODE if encoding.lower().replace("-", "").startswith("utf8") else ASCII
