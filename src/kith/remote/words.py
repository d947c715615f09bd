"""Words of other programs, as a model and a person may see them."""

import re
from typing import Final

# Colours and cursor movements (CSI), titles and links (OSC).
_TERMINAL_CODES: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_SPACE: Final = re.compile(r"\s+")


def clean_words(text: str, most: int) -> str:
    """The text in one line of at most `most` characters, without those that nobody would see."""
    shown = "".join(
        each for each in _SPACE.sub(" ", _TERMINAL_CODES.sub("", text)) if each.isprintable()
    ).strip()
    return shown if len(shown) <= most else f"{shown[: most - 1].rstrip()}…"
