"""A change on the screen: its diff, what it warns of, and what was left out of sight."""

from collections.abc import Mapping, Sequence
from typing import Final

from kith.core.evidence import Grade
from kith.core.values import Changes, FileChange, Question
from kith.edits import summarise
from kith.terminal.rendering.diffs import diff_lines, hunk_lines
from kith.terminal.rendering.spans import Line, Span
from kith.terminal.screen import Screen
from kith.view.evidence import word_evidence
from kith.view.lines import count, paragraph
from kith.view.printing import folded, printable
from kith.view.wording import word_size

_MOST: Final = 400  # lines of a change that are shown without being asked for
_MOST_OF_FILE: Final = 150
_SEE: Final = "[v] shows everything"
_GRADES: Final[Mapping[Grade, str]] = {"proven": "green", "held": "green", "unproven": "yellow"}


def print_asked(screen: Screen, question: Question) -> None:
    """The words of a question about a change; what it warns of stands out."""
    for line in question.warnings:
        screen.show(printable(line), style="bold yellow")
    if question.evidence:
        told = paragraph(word_evidence(question.evidence), width=screen.width)
        screen.show(*told, style=_GRADES[question.evidence.grade])
    screen.show(printable(question.text), style="bold")


def show_changes(screen: Screen, changes: Changes) -> None:
    """The whole diff, each file under its own head, and a line that counts."""
    for file in summarise(changes):
        screen.show("")
        show_file(screen, file)
    screen.show("")
    screen.show(word_size(summarise(changes)), style="bold")


def show_beginning(screen: Screen, files: Sequence[FileChange]) -> bool:
    """As much of a diff as somebody reads at a prompt; True where something of it is not shown."""
    left, hidden = _MOST, 0
    for number, file in enumerate(files):
        if left <= 0:
            screen.show("", f"... and {count(len(files) - number, 'more file')}: {_SEE}")
            hidden = 1
            break
        screen.show("")
        lines = file_lines(screen, file)
        most = min(left, _MOST_OF_FILE)
        if len(lines) > most + 1:
            screen.show_lines(lines[:most])
            screen.show(f"... {len(lines) - most:,} more lines: {_SEE}", style="bold yellow")
            hidden = 1
        else:
            screen.show_lines(lines)
        left -= len(lines)
    screen.show("")
    screen.show(word_size(files), style="bold")
    return bool(hidden)


async def view_changes(screen: Screen, files: Sequence[FileChange]) -> None:
    """All of it, to be scrolled through."""
    lines: list[Line] = [line for file in files for line in ((), *file_lines(screen, file))]
    await screen.view(count(len(files), "file"), lines)


def show_help(screen: Screen, keys: Sequence[tuple[str, str]]) -> None:
    """Show the meaning of each key, a line for each."""
    screen.show_lines([(Span(f"  {key}", "strong"), Span(f"  {words}")) for key, words in keys])


def show_file(screen: Screen, file: FileChange) -> None:
    """The change of one file: in colour with line numbers, or as a plain diff without colours."""
    screen.show_lines(file_lines(screen, file))


def file_lines(screen: Screen, file: FileChange) -> list[Line]:
    """The lines of one file's change, as this screen can show them."""
    look = screen.look
    return plain_lines(file.diff) if look.is_plain else diff_lines(file, screen.width, look.glyphs)


def show_piece(screen: Screen, path: str, diff: str) -> bool:
    """One piece of a change, in the same way; True where something of it is not shown."""
    lines = piece_lines(screen, path, diff)
    hidden = len(lines) > _MOST_OF_FILE + 1
    screen.show_lines(lines[:_MOST_OF_FILE] if hidden else lines)
    if hidden:
        screen.show(f"... {len(lines) - _MOST_OF_FILE:,} more lines: {_SEE}", style="bold yellow")
    return hidden


def piece_lines(screen: Screen, path: str, diff: str) -> list[Line]:
    """All lines of a piece."""
    look = screen.look
    return plain_lines(diff) if look.is_plain else hunk_lines(diff, path, screen.width, look.glyphs)


def plain_lines(diff: str) -> list[Line]:
    """A unified diff as it is; what the file holds can move no cursor."""
    lines = diff.rstrip("\n").split("\n")
    shown = [line for line in lines if not line.startswith(("diff --git ", "index "))]
    return [(Span(folded(printable(line.removesuffix("\r")))),) for line in shown]
