"""The question about a change, from its diff to an answer."""

from collections.abc import Sequence
from typing import Final

from kith.core.values import Answer, Changes, Question
from kith.edits import summarise
from kith.terminal.approving.pieces import (
    ChangePiece,
    all_kept,
    choose,
    edit_changes,
    kept_changes,
    kept_numbers,
    pieces_in,
    reasons,
)
from kith.terminal.approving.showing import print_asked, show_beginning, show_help, view_changes
from kith.terminal.screen import DIFFERENT, Screen

_KEYS: Final = (
    *(("a", "all", "[a]ll"), ("n", "none", "[n]one"), ("h", "some", "[h]unk by hunk")),
    *(("e", "edit", "[e]dit files"), ("b", "back", "[b]ack to the whole change")),
    ("s", "revise", "[s]ay why not"),
)
_ONLY: Final = {"[a]ll": "[a]pply", "[n]one": "[n]o"}  # where no part can be chosen
_HELP: Final = {
    "a": "apply all of it",
    "n": "apply nothing, and end",
    "h": "choose part by part",
    "e": "write it differently first, in the editor",
    "b": "decide about the whole change once more",
    "s": "say what should be different; it is tried again",
    "v": "look at all of it",
}
_WORDS: Final = "Words and Enter, right here, are the same as [s]."


async def ask_change(screen: Screen, question: Question) -> Answer:
    """Show the diff and ask: all, none, some parts, edited, or what to do differently."""
    changes = question.changes
    hidden = show_beginning(screen, question.files)
    while True:
        print_asked(screen, question)
        match await _press(screen, question, changes, hidden):
            case "a":
                return Answer("all") if changes == question.changes else Answer("edit", changes=changes)
            case "h":
                if answer := await _choose(screen, question, changes):
                    return answer
            case "e":
                if (edited := await edit_changes(screen, changes)) != changes:
                    changes, hidden = edited, show_beginning(screen, summarise(edited))
            case "s":
                if said := await screen.type_line(DIFFERENT):
                    return Answer("revise", said, changes=None if changes == question.changes else changes)
            case "b":
                return Answer("back")
            case _:
                return Answer("none")


async def _press(screen: Screen, question: Question, changes: Changes, hidden: bool) -> str:
    """A key that decides; those that only show something are done here."""
    words, keys = _keys(question, hidden)
    while (key := await screen.press(words, keys)) in ("v", "?"):
        if key == "v":
            await view_changes(screen, summarise(changes) if changes else question.files)
        else:
            show_help(screen, [(each, _HELP[each]) for each in keys if each in _HELP])
            screen.show(f"  {_WORDS}" if "s" in keys else "", style="dim")
    return key


def _keys(question: Question, hidden: bool) -> tuple[str, list[str]]:
    """The keys of this question, in words and as they are."""
    here = bool(question.changes)  # with its contents
    parts = [
        (key, words)
        for key, choice, words in _KEYS
        if choice in (*question.choices, "none") and (here or choice != "edit")
    ]
    whole = "some" in question.choices
    shown = [words if whole else _ONLY.get(words, words) for _, words in parts]
    more = ["[v]iew all"] if hidden else []
    return "  ".join([*shown, *more, "[?]"]), [*(key for key, _ in parts), "v", "?"]


async def _choose(screen: Screen, question: Question, changes: Changes) -> Answer | None:
    """Part by part; None where the person goes back to the whole."""
    pieces = pieces_in(question, changes)
    may_say = "revise" in question.choices
    match await choose(screen, pieces, may_say=may_say):
        case "apply" if all_kept(pieces) and changes == question.changes:
            return Answer("all")
        case "apply":
            choice = "some" if all(piece.edited is None for piece in pieces) else "edit"
            return _answer(choice, reasons(pieces), question, pieces)
        case "send":
            said = reasons(pieces)
            more = "" if said else await screen.type_line(DIFFERENT)
            return _answer("revise", said or more, question, pieces) if said or more else None
        case "none":
            return Answer("none", reasons(pieces))
        case _:
            return None


def _answer(choice: str, said: str, question: Question, pieces: Sequence[ChangePiece]) -> Answer:
    """An answer that stands for the parts that were kept, by their contents where they are here."""
    changes = kept_changes(pieces) if question.changes else None
    return Answer(choice, said, changes=changes, kept=kept_numbers(pieces))
