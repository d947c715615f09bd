"""How much of a window each thing may take that kith adds to a task."""

from typing import Final

ASSUMED_WINDOW: Final = 16_384  # tokens, where nobody tells


def output_room(window: int, most: int) -> int:
    """How many bytes one tool may answer with: about a sixth of the window, at three bytes a token."""
    return max(2_000, min(most, (window or ASSUMED_WINDOW) // 2))


def opening_room(window: int) -> int:
    """How many tokens the layout of the project may take: a twelfth of the window, and never much.

    They are read before the first answer, and a processor alone reads slowly.
    """
    return min(window or ASSUMED_WINDOW, ASSUMED_WINDOW) // 12


def knowledge_room(window: int) -> int:
    """How many tokens notes for agents and the list of skills may take together: an eighth of the window."""
    return min(window or ASSUMED_WINDOW, 4 * ASSUMED_WINDOW) // 8
