"""Words of other programs, as a model and a person may see them."""

import re
from typing import Final

# Colours and cursor movements (CSI), titles and links (OSC).
_TERMINAL_CODES: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_SPACE: Final = re.compile(r"\s+")
# What counts as printable and has no glyph: joiners, fillers, selectors of variations, tags.
_UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)


def clean_words(text: str, most: int) -> str:
    """The text in one line of at most `most` characters, without those that nobody would see."""
    plain = _UNSEEN.sub("", _SPACE.sub(" ", _TERMINAL_CODES.sub("", text)))
    shown = "".join(each for each in plain if each.isprintable()).strip()
    return shown if len(shown) <= most else f"{shown[: most - 1].rstrip()}…"
