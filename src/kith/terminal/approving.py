"""A person decides about a change: all of it, piece by piece, in other words, or not at all."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.core.values import SYMLINK, Answer, Change, Changes, Kept, Question
from kith.edits import EditError, Hunk, keep_hunks, split_hunks, summarise
from kith.edits.hunks import draft_of, is_text, read_draft
from kith.edits.pieces import pieces_of
from kith.terminal.rendering.spans import Span
from kith.terminal.screen import DIFFERENT, LEAVE, Screen
from kith.terminal.show_change import (
    piece_lines,
    print_asked,
    show_beginning,
    show_help,
    show_piece,
    view_changes,
)
from kith.view.lines import count
from kith.view.printing import on_one_line, printable

# Go through a change piece by piece: keep, leave, edit, or say why not.


class ChangePiece(Struct):
    """One piece of a changed file; `number` counts from 0, of so many (`of`).

    `change` is the file where its contents are here: without them a piece can be kept or left, not edited.
    `kept` is None while nobody has decided. `edited` is the piece, or the whole new file, as the person
    wrote it; `draft` what they wrote last and did not fit; `said` why they left it out.
    """

    path: str
    number: int
    of: int
    hunk: Hunk
    change: Change | None = None
    planned: bool | None = None
    kept: bool | None = None
    edited: Hunk | bytes | None = None
    draft: str = ""
    said: str = ""

    @property
    def text(self) -> str:
        """The piece as a diff, as it stands now."""
        if isinstance(self.edited, bytes) and self.change:
            return "".join(hunk.text for hunk in split_hunks(replace(self.change, after=self.edited)))
        return (self.edited if isinstance(self.edited, Hunk) else self.hunk).text

    @property
    def name(self) -> str:
        """`utils.py, part 2 of 3`."""
        return f"{self.path}, part {self.number + 1} of {self.of}" if self.of > 1 else self.path

    @property
    def is_new_file(self) -> bool:
        change = self.change
        return change is not None and change.before is None and change.after is not None and _is_text(change)

    @property
    def is_editable(self) -> bool:
        """True if it is text that can be edited."""
        change = self.change
        there = change is not None and None not in (change.before, change.after) and _is_text(change)
        return self.is_new_file or (there and bool(self.hunk.start))


def _is_text(change: Change) -> bool:
    """True if both sides are lines, and not links."""
    return is_text(change) and SYMLINK not in (change.mode, change.mode_before)


def pieces_in(question: Question, changes: Changes) -> list[ChangePiece]:
    """The pieces of `changes`; without contents, those of the question's diffs."""
    found: list[ChangePiece] = []
    planned = {file.path: file.planned for file in question.files}
    for change in changes:
        hunks = split_hunks(change)
        found += [
            ChangePiece(change.path, at, len(hunks), hunk, change, planned.get(change.path))
            for at, hunk in enumerate(hunks)
        ]
    for file in () if changes else question.files:
        pieces = pieces_of(file)
        hunks = tuple(Hunk(piece.lines, piece.start, piece.new_start) for piece in pieces)
        found += [
            ChangePiece(file.path, at, len(hunks), hunk, planned=file.planned)
            for at, hunk in enumerate(hunks)
        ]
    return found


def all_kept(pieces: Sequence[ChangePiece]) -> bool:
    """True if the change is kept unchanged."""
    return all(piece.kept and piece.edited is None for piece in pieces)


def kept_changes(pieces: Sequence[ChangePiece]) -> Changes:
    """The change that the decisions come to; what nobody decided is left out."""
    return tuple(change for change in _kept_changes(pieces) if _does_something(change))


def _kept_changes(pieces: Sequence[ChangePiece]) -> Iterator[Change]:
    for _, group in groupby(pieces, key=lambda piece: piece.path):
        own = list(group)
        change, kept = own[0].change, [piece for piece in own if piece.kept]
        whole = next((piece.edited for piece in kept if isinstance(piece.edited, bytes)), None)
        edited = {piece.number: piece.edited for piece in kept if isinstance(piece.edited, Hunk)}
        if change is None or not kept:
            continue
        if whole is not None:
            yield replace(change, after=whole)
        elif len(kept) == len(own) and not edited:
            yield change
        else:
            yield keep_hunks(change, {piece.number for piece in kept}, edited)


def _does_something(change: Change) -> bool:
    return change.before != change.after or change.mode != change.mode_before


def kept_numbers(pieces: Sequence[ChangePiece]) -> tuple[Kept, ...]:
    """The same by number, for whoever holds the contents."""
    found: dict[str, list[int]] = {}
    for piece in pieces:
        if piece.kept:
            found.setdefault(piece.path, []).append(piece.number)
    return tuple(Kept(path, tuple(numbers)) for path, numbers in found.items())


def reasons(pieces: Sequence[ChangePiece]) -> str:
    """The reasons for pieces that were left out, each on a line with its place."""
    return "\n".join(f"{piece.name}: {piece.said}" for piece in pieces if piece.said and not piece.kept)


# A change in the person's own editor: whole files as they would become, or one piece of a diff.


async def edit_changes(screen: Screen, changes: Changes) -> Changes:
    """Open a file as it would become; what is saved is the change. Without contents nothing can be opened."""
    texts = [change for change in changes if change.after is not None and change.mode != SYMLINK]
    if not texts:
        screen.show("There is no text to edit in this change.")
        return changes
    rows = [on_one_line(change.path) for change in texts]
    chosen = await screen.pick("Which file?", rows) if len(texts) > 1 else 0
    if chosen is None:
        return changes
    change, after = texts[chosen], texts[chosen].after
    edited = replace(change, after=await screen.edit(after or b"", change.path))
    found = tuple(edited if each is change else each for each in changes)
    return tuple(each for each in found if each.before != each.after or each.mode != each.mode_before)


async def edit_piece(screen: Screen, piece: ChangePiece) -> bool:
    """Let the person write a piece otherwise; True where that is done, False where it stays as it was.

    A piece that does not fit its file is said in one sentence, and waits in the editor for the next visit.
    """
    if piece.is_new_file:
        return await _edit_new_file(screen, piece)
    draft = piece.draft or draft_of(piece.edited if isinstance(piece.edited, Hunk) else piece.hunk)
    content = await screen.edit(draft.encode("utf-8", "surrogateescape"), f"{piece.path}.diff")
    written = content.decode("utf-8", "surrogateescape")
    try:
        edited = read_draft(written, piece.hunk)
    except EditError as error:
        piece.draft = written
        screen.show(printable(f"{error} [e] opens your version again."), style="yellow")
        return False
    piece.draft = ""
    if edited is None:
        piece.edited = None
        screen.show("The part is as it was.")
        return False
    piece.edited = None if edited == piece.hunk else edited
    return True


async def _edit_new_file(screen: Screen, piece: ChangePiece) -> bool:
    assert piece.change is not None and piece.change.after is not None
    before = piece.edited if isinstance(piece.edited, bytes) else piece.change.after
    after = await screen.edit(before, piece.path)
    piece.edited = None if after == piece.change.after else after
    return True


# Piece by piece through a change: keep, leave, write otherwise, or say why not.

Chosen = Literal["apply", "send", "none", "back"]
_PIECES_HELP: Final = (
    ("y", "keep this part"),
    ("n", "leave it out"),
    ("a", "keep this part and the rest of the file"),
    ("d", "leave out this part and the rest of the file"),
    ("j", "the next file; what is undecided is left out"),
    ("k", "the part before"),
    ("e", "write it differently, in the editor"),
    ("s", "leave it out and say why"),
    ("v", "look at all of it"),
    ("q", "back to the whole change (or Esc)"),
)


class Walk(Struct):
    """The position of a person in a change."""

    pieces: Sequence[ChangePiece]
    at: int = 0
    shown: int | None = None  # the piece that is on the screen already
    hidden: bool = False  # something of it is not

    @property
    def piece(self) -> ChangePiece:
        return self.pieces[self.at]

    @property
    def rest(self) -> Sequence[ChangePiece]:
        """This piece and those of its file behind it."""
        return [piece for piece in self.pieces[self.at :] if piece.path == self.piece.path]

    def decide(self, screen: Screen, pieces: Sequence[ChangePiece], kept: bool, said: str = "") -> None:
        """Go on behind these pieces, which are the next ones."""
        for piece in pieces:
            piece.kept, piece.said = kept, said
        self.at += len(pieces)
        glyphs, rest = screen.look.glyphs, f", and the {count(len(pieces) - 1, 'part')} after it"
        what = f"{glyphs.good} kept" if kept else f"{glyphs.bad} left out"
        line = Span(f"{what}{rest if len(pieces) > 1 else ''}", "good" if kept else "bad")
        screen.show_lines([(line,)])


async def choose(screen: Screen, pieces: Sequence[ChangePiece], *, may_say: bool) -> Chosen:
    """Go through the pieces, and say what is to be done with what was kept.

    `may_say`: somebody works on what is sent back.
    """
    walk = Walk(pieces)
    while True:
        while walk.at < len(pieces):
            if not await _decide_one(screen, walk, may_say):
                return "back"
        if all_kept(pieces):
            return "apply"
        show_kept(screen, pieces)
        chosen = await _ask_end(screen, pieces, may_say)
        if chosen != "again":
            return chosen
        walk.at, walk.shown = len(pieces) - 1, None


async def _decide_one(screen: Screen, walk: Walk, may_say: bool) -> bool:
    """One key for one piece; False where the person wants back to the whole change."""
    piece, rest = walk.piece, walk.rest
    if walk.shown != walk.at:
        walk.shown, walk.hidden = walk.at, _show(screen, piece)
    words, keys = _piece_keys(walk, may_say)
    match await screen.press(words, keys, follows=True):
        case "y":
            walk.decide(screen, [piece], True)
        case "n":
            walk.decide(screen, [piece], False)
        case "a" | "d" as key:
            walk.decide(screen, rest, key == "a")
        case "j":
            walk.at += len(rest)
        case "k":
            walk.at -= 1
        case "e":
            walk.shown = None if await edit_piece(screen, piece) else walk.at
        case "s":
            if said := await screen.type_line("Why not?"):
                walk.decide(screen, [piece], False, said)
        case "v":
            await screen.view(piece.name, piece_lines(screen, piece.path, piece.text))
        case "?":
            show_help(screen, [(key, words) for key, words in _PIECES_HELP if key in keys])
        case _:
            return False
    return True


def _piece_keys(walk: Walk, may_say: bool) -> tuple[str, list[str]]:
    """The keys that mean something here, in words and as they are."""
    shown = ["Keep it? [y]es", "[n]o"]
    if len(walk.rest) > 1:
        shown += ["[a]ll", "[d]rop the rest"]
    if walk.at + len(walk.rest) < len(walk.pieces):
        shown.append("[j]ump")
    if walk.at:
        shown.append("[k] back")
    if walk.piece.is_editable:
        shown.append("[e]dit")
    if may_say:
        shown.append("[s]ay why not")
    if walk.hidden:
        shown.append("[v]iew all")
    keys = [part.partition("[")[2][0] for part in shown]
    return "  ".join([*shown, "[?]"]), [*keys, "?", "q", LEAVE]


def _show(screen: Screen, piece: ChangePiece) -> bool:
    """A piece under its name, with what was decided of it before; True where not all of it is shown."""
    state = {None: "", True: "  (kept)", False: "  (left out)"}[piece.kept]
    edited = "  (edited)" if piece.edited is not None else ""
    planned = {None: "", True: "  (planned)", False: "  (unplanned)"}[piece.planned]
    screen.show("", f"{printable(piece.name)}{planned}{edited}{state}", style="bold")
    return show_piece(screen, piece.path, piece.text)


def show_kept(screen: Screen, pieces: Sequence[ChangePiece]) -> None:
    """Show the decisions, a line for each file."""
    screen.show("")
    for path, group in groupby(pieces, key=lambda piece: piece.path):
        screen.show(f"  {printable(path)}: {_told(list(group))}")


def _told(pieces: Sequence[ChangePiece]) -> str:
    """`parts 1, 3 of 4 are kept, 1 of them edited (1 part undecided)`."""
    kept = [piece for piece in pieces if piece.kept]
    edited = sum(piece.edited is not None for piece in kept)
    undecided = sum(piece.kept is None for piece in pieces)
    if len(pieces) == 1:
        told = "kept" if kept else "left out"
    elif len(kept) in (0, len(pieces)):
        told = "all of it is kept" if kept else "nothing of it is kept"
    else:
        numbers = ", ".join(str(piece.number + 1) for piece in kept)
        one = len(kept) == 1
        told = f"{'part' if one else 'parts'} {numbers} of {len(pieces)} {'is' if one else 'are'} kept"
    told += ", edited" if edited and edited == len(kept) else f", {edited} of them edited" if edited else ""
    return told + (f" ({count(undecided, 'part')} undecided)" if undecided else "")


async def _ask_end(
    screen: Screen, pieces: Sequence[ChangePiece], may_say: bool
) -> Literal["apply", "send", "none", "back", "again"]:
    """Ask what to do with the pieces that were kept."""
    keys: dict[str, Literal["apply", "send", "none", "back", "again"]] = {"k": "again", "n": "none"}
    shown = ["[n]one", "[k] back"]
    if may_say:
        keys["s"] = "send"
        shown.insert(0, "[s]ay what to do about the rest")
    if any(piece.kept for piece in pieces):
        keys["a"] = "apply"
        shown.insert(0, "[a]pply what is kept")
    keys |= {"q": "back", LEAVE: "back"}
    return keys[await screen.press("  ".join(shown), list(keys))]


# The question about a change, from its diff to an answer.

_KEYS: Final = (
    *(("a", "all", "[a]ll"), ("n", "none", "[n]one"), ("h", "some", "[h]unk by hunk")),
    *(("p", "planned", "[p]lanned"), ("e", "edit", "[e]dit files")),
    ("b", "back", "[b]ack to the whole change"),
    ("s", "revise", "[s]ay why not"),
)
_ONLY: Final = {"[a]ll": "[a]pply", "[n]one": "[n]o"}  # where no part can be chosen
_HELP: Final = {
    "a": "apply all of it",
    "n": "apply nothing, and end",
    "h": "choose part by part",
    "p": "apply the files that the plan names",
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
            case "p":
                return _keep_planned(question, changes)
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


def _keep_planned(question: Question, changes: Changes) -> Answer:
    if changes == question.changes:
        return Answer("planned")
    planned = {file.path for file in question.files if file.planned}
    return Answer("edit", changes=tuple(change for change in changes if change.path in planned))


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
