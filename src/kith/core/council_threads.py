"""How the conversations of a council are called: one for each member, below the council's own name."""

from typing import Final

_BEGIN: Final = "council/"


def council_thread(council: str, who: str) -> str:
    """The thread of one who speaks in a council."""
    return f"{_BEGIN}{council}/{who}"


def place_of(thread: str) -> tuple[str, str] | None:
    """Which council a thread belongs to, and who speaks in it; None for any other thread."""
    if not thread.startswith(_BEGIN):
        return None
    council, _, who = thread.removeprefix(_BEGIN).partition("/")
    return council, who
