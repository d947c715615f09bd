"""Questions to a person: a key, a line of words, a diff to choose from, a text in their own editor."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from kith.core.values import Answer, Change, Changes, FileChange, Question
from kith.edits import Hunk, keep_hunks, split_hunks, summarise
from kith.faces.always import always_words
from kith.faces.lines import count, folded, printable, whole

if TYPE_CHECKING:
    from kith.faces.screen import Screen

_KEYS = {
    "y": "[y]es",
    "n": "[n]o",
    "a": "[a]lways in this project",
    "e": "[e]dit",
    "s": "[s]ay what to do differently",
}
_MORE = (("a", "always"), ("e", "edit"), ("s", "revise"))  # beside yes and no, where a question has them
DIFF_STYLES = (("@@", "cyan"), ("+", "green"), ("-", "red"))


async def ask(screen: "Screen", question: Question) -> Answer:
    """Put one question on the terminal."""
    if question.kind == "change":
        return await ask_change(screen, question)
    screen.show(whole(question.text), style="bold")
    if always := always_words(question):
        screen.show(always, style="dim")
    keys = {"y": "yes", "n": "no"}
    keys |= {key: choice for key, choice in _MORE if choice in question.choices}
    words = "  ".join(_KEYS[key] for key in keys)
    while True:
        match keys[await screen.press(words, tuple(keys))]:
            case "revise":
                if said := await screen.type_line("What should be different?"):
                    return Answer("revise", said)
            case "edit":
                draft = question.draft.encode()
                if (edited := await screen.edit(draft, "tasks.md")) != draft:
                    return Answer("edit", edited.decode("utf-8", "replace"))
                screen.show("Nothing was changed.")
            case choice:
                return Answer(choice)


async def ask_change(screen: "Screen", question: Question) -> Answer:
    """Show the diff and ask: all, none, some hunks, edited, or what to do differently."""
    changes = question.changes
    whole = "some" in question.choices
    words = "[a]ll  [n]one  [h]unks  [e]dit  [s]ay what to do differently" if whole else "[a]pply  [n]o"
    show_changes(screen, changes)
    while True:
        print_asked(screen, question)
        match await screen.press(words, "anhes" if whole else "an"):
            case "a":
                return Answer("all") if changes == question.changes else Answer("edit", changes=changes)
            case "n":
                return Answer("none")
            case "h":
                if kept := await choose_hunks(screen, changes):
                    return Answer("some", changes=kept)
                screen.show("No part was kept.")
            case "e":
                changes = await edit_changes(screen, changes)
                show_changes(screen, changes)
            case _:
                if said := await screen.type_line("What should be different?"):
                    return Answer("revise", said)


def print_asked(screen: "Screen", question: Question) -> None:
    """The words of a question about a change; what it warns of stands out."""
    *careful, words = printable(question.text).split("\n")
    for line in careful:
        screen.show(line, style="bold yellow")
    screen.show(words, style="bold")


def show_changes(screen: "Screen", changes: Changes) -> None:
    """The diff in colour, each file under its own header, and a line that counts."""
    files = summarise(changes)
    for file in files:
        screen.show("")
        show_file(screen, file)
    screen.show("")
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    screen.show(f"{count(len(files), 'file')}, +{added} -{removed}", style="bold")


def show_file(screen: "Screen", file: FileChange) -> None:
    """What changes in one file: in colour with its numbers, or as a plain diff where there are no colours."""
    from kith.faces.rendering.diffs import diff_lines

    look = screen.look
    if look.is_plain:
        print_diff(screen, file.diff)
    else:
        screen.show_lines(diff_lines(file, screen.width, look.glyphs))


def show_hunk(screen: "Screen", path: str, hunk: Hunk) -> None:
    """One piece of a change, in the same way."""
    from kith.faces.rendering.diffs import hunk_lines

    look = screen.look
    if look.is_plain:
        print_diff(screen, hunk.text)
    else:
        screen.show_lines(hunk_lines(hunk.text, path, screen.width, look.glyphs))


def print_diff(screen: "Screen", diff: str) -> None:
    """A unified diff as it is; what the file holds can move no cursor."""
    head, hunks, body = diff.rstrip("\n").partition("\n@@")
    lines = [line for line in head.split("\n") if not line.startswith(("diff --git ", "index "))]
    for number, line in enumerate([*lines, *f"@@{body}".split("\n")] if hunks else lines):
        in_head = number < len(lines) and hunks
        style = "bold" if in_head else next((s for mark, s in DIFF_STYLES if line.startswith(mark)), "")
        screen.show(folded(printable(line.removesuffix("\r"))), style=style)


async def choose_hunks(screen: "Screen", changes: Changes) -> Changes:
    """Go through the hunks one by one; what is kept becomes the change."""
    kept: list[Change] = []
    for change in changes:
        hunks = split_hunks(change)
        chosen = await _choose(screen, change, hunks)
        if len(chosen) == len(hunks):
            kept.append(change)
        elif chosen:
            kept.append(keep_hunks(change, chosen))
    return tuple(kept)


async def _choose(screen: "Screen", change: Change, hunks: Sequence[Hunk]) -> set[int]:
    chosen: set[int] = set()
    for number, hunk in enumerate(hunks):
        screen.show(f"{printable(change.path)}, part {number + 1} of {len(hunks)}", style="bold")
        show_hunk(screen, change.path, hunk)
        key = await screen.press("Keep it? [y]es  [n]o  [a]ll of this file  [d]one with this file", "ynad")
        if key == "a":
            return chosen | set(range(number, len(hunks)))
        if key == "d":
            break
        if key == "y":
            chosen.add(number)
    return chosen


async def edit_changes(screen: "Screen", changes: Changes) -> Changes:
    """Open the files as they would become in the person's editor; what they save is the change."""
    edited: list[Change] = []
    for change in changes:
        if change.after is None:
            edited.append(change)
            continue
        after = await screen.edit(change.after, change.path)
        if after != change.before:
            edited.append(replace(change, after=after))
    return tuple(edited)
