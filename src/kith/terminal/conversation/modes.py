"""The modes of a conversation: with questions, read-only, or with one question at the end."""

from typing import Final, Literal, get_args

Mode = Literal["ask", "plan", "auto"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
MEANINGS: Final[dict[Mode, str]] = {
    "ask": "kith asks about hosts and tool servers, then about the change",
    "plan": "the model reads and answers, and changes nothing",
    "auto": "kith refuses what it would ask about; one question, at the end",
}


def next_mode(mode: Mode) -> Mode:
    """The one that Shift-Tab goes on to."""
    return MODES[(MODES.index(mode) + 1) % len(MODES)]


def badge(mode: Mode) -> str:
    """The mode as the status line shows it."""
    return f"\x1b[7m {mode} mode \x1b[0m"
