"""Piece by piece through a change: keep, leave, write otherwise, or say why not."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal

from kith.terminal.approving.editing import edit_piece
from kith.terminal.approving.pieces import Piece, all_kept
from kith.terminal.approving.showing import piece_lines, show_help, show_piece
from kith.terminal.rendering.spans import Span
from kith.terminal.screen import LEAVE, Screen
from kith.view.lines import count
from kith.view.printing import printable

Chosen = Literal["apply", "send", "none", "back"]
_HELP: Final = (
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


@dataclass(slots=True)
class Walk:
    """Where somebody is in a change."""

    pieces: Sequence[Piece]
    at: int = 0
    shown: int | None = None  # the piece that is on the screen already
    hidden: bool = False  # something of it is not

    @property
    def piece(self) -> Piece:
        return self.pieces[self.at]

    @property
    def rest(self) -> Sequence[Piece]:
        """This piece and those of its file behind it."""
        return [piece for piece in self.pieces[self.at :] if piece.path == self.piece.path]

    def decide(self, screen: Screen, pieces: Sequence[Piece], kept: bool, said: str = "") -> None:
        """Go on behind these pieces, which are the next ones."""
        for piece in pieces:
            piece.kept, piece.said = kept, said
        self.at += len(pieces)
        glyphs, rest = screen.look.glyphs, f", and the {count(len(pieces) - 1, 'part')} after it"
        what = f"{glyphs.good} kept" if kept else f"{glyphs.bad} left out"
        line = Span(f"{what}{rest if len(pieces) > 1 else ''}", "good" if kept else "bad")
        screen.show_lines([(line,)])


async def choose(screen: Screen, pieces: Sequence[Piece], *, may_say: bool) -> Chosen:
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
    words, keys = _keys(walk, may_say)
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
            show_help(screen, [(key, words) for key, words in _HELP if key in keys])
        case _:
            return False
    return True


def _keys(walk: Walk, may_say: bool) -> tuple[str, list[str]]:
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


def _show(screen: Screen, piece: Piece) -> bool:
    """A piece under its name, with what was decided of it before; True where not all of it is shown."""
    state = {None: "", True: "  (kept)", False: "  (left out)"}[piece.kept]
    edited = "  (edited)" if piece.edited is not None else ""
    screen.show("", f"{printable(piece.name)}{edited}{state}", style="bold")
    return show_piece(screen, piece.path, piece.text)


def show_kept(screen: Screen, pieces: Sequence[Piece]) -> None:
    """What was decided, a line for each file."""
    screen.show("")
    for path, group in groupby(pieces, key=lambda piece: piece.path):
        screen.show(f"  {printable(path)}: {_told(list(group))}")


def _told(pieces: Sequence[Piece]) -> str:
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
    screen: Screen, pieces: Sequence[Piece], may_say: bool
) -> Literal["apply", "send", "none", "back", "again"]:
    """What is to be done with what was kept."""
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
