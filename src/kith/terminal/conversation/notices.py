"""Call a person back to the window: a bell, and a notice on the desktop where the terminal can show one."""

from collections.abc import Mapping
from typing import Final, Literal

from kith.view.printing import printable

Notify = Literal["auto", "bell", "off"]
_BELL: Final = "\a"
_LONGEST: Final = 120  # characters; the desktop cuts longer ones
_TITLE: Final = "kith"
# Terminals that know rxvt's notice; the others know iTerm2's, or ignore it.
_RXVT: Final = ("foot", "rxvt")
_SILENT: Final = ("linux", "vt")  # consoles without a desktop, whose parsers may print a notice


def notice(notify: Notify, has_focus: bool | None, words: str, environment: Mapping[str, str]) -> str:
    """A sequence for the terminal; "" where the person looks at it, or may. None: it did not say.

    `bell` rings without being told that nobody looks: some terminals never say.
    """
    if notify == "off" or has_focus or (has_focus is None and notify == "auto"):
        return ""
    return _BELL if notify == "bell" else _desktop(words, environment) + _BELL


def _desktop(words: str, environment: Mapping[str, str]) -> str:
    """The notice of OSC 9 or OSC 777, through tmux where it stands between; "" for a console."""
    term, in_tmux = environment.get("TERM", ""), "TMUX" in environment
    if term.startswith(_SILENT):
        return ""
    text = printable(" ".join(words.split()))[:_LONGEST].replace(";", ",")
    if "VTE_VERSION" in environment or term.startswith(_RXVT):
        sequence = f"\x1b]777;notify;{_TITLE};{text}{_BELL}"
    else:
        sequence = f"\x1b]9;{_TITLE}: {text}{_BELL}"
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\" if in_tmux else sequence
