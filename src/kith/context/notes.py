"""Notes for agents as a model is told them: each under a heading of its own, all within their room."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from kith.context.budget import estimate_tokens, fit_middle
from kith.core.values import ToolResult

OF_USER: Final = "# Notes of the user"
OF_PROJECT: Final = "# Notes of the project"
_CHARS: Final = 3  # of a token, cautiously
_LEAST: Final = 40  # tokens; fewer say nothing


@dataclass(frozen=True, slots=True)
class Note:
    """Words for agents, and where they stand: `path` as the person knows it."""

    path: str
    text: str
    heading: str = OF_PROJECT

    @property
    def folder(self) -> str:
        """The folder that they are about, "" for all of the project."""
        return self.path.rpartition("/")[0] if self.heading == OF_PROJECT else ""


def tell_note(note: Note, room: int) -> str:
    """A note under its heading, in at most `room` tokens; its middle is left out where it is longer.

    "" where the room is too little to say anything.
    """
    about = f"They hold for {note.folder}/.\n" if note.folder else ""
    head = f"{note.heading} ({note.path})\n{about}"
    text, left = note.text.strip(), room - estimate_tokens(head)
    if estimate_tokens(text) <= left:
        return head + text
    return head + _cut(text, left) if left >= _LEAST else ""


def _cut(text: str, room: int) -> str:
    """A text in at most `room` tokens, without its middle."""
    chars = room * _CHARS
    while (tokens := estimate_tokens(shown := fit_middle(text, chars))) > room:
        chars = chars * room // tokens - 1
    return shown


def share_room(needs: Sequence[int], room: int) -> tuple[int, ...]:
    """How much each gets of what there is: what it needs, or an equal part of what the others leave."""
    given, left = [0] * len(needs), room
    for rest, place in enumerate(sorted(range(len(needs)), key=needs.__getitem__)):
        given[place] = min(needs[place], left // (len(needs) - rest))
        left -= given[place]
    return tuple(given)


# --- behind the answer of a tool -----------------------------------------------------------------

TOLD: Final = "notes"  # the key of a result's detail that holds the paths of the notes behind it


def add_notes(result: ToolResult, notes: Sequence[Note], room: int) -> ToolResult:
    """The answer of a tool, and after it the notes of the places that it was about."""
    told = [text for note in notes if (text := tell_note(note, room // len(notes)))]
    detail = {**result.detail, TOLD: [note.path for note in notes]}
    return replace(result, text="\n\n".join([result.text, *told]), detail=detail)


def part_notes(result: ToolResult) -> tuple[str, str]:
    """The answer of a tool, and the notes behind it (with what parts them), "" where there are none."""
    paths = result.detail.get(TOLD) or ()
    at = result.text.find(f"\n\n{OF_PROJECT} ({paths[0]})\n") if paths else -1
    return (result.text[:at], result.text[at:]) if at >= 0 else (result.text, "")
