"""A change in the person's own editor: whole files as they would become, or one piece of a diff."""

from dataclasses import replace

from kith.core.values import SYMLINK, Changes
from kith.edits import EditError, Hunk
from kith.edits.by_hand import draft_of, read_draft
from kith.terminal.approving.pieces import Piece
from kith.terminal.screen import Screen
from kith.view.printing import printable


async def edit_changes(screen: Screen, changes: Changes) -> Changes:
    """Open a file as it would become; what is saved is the change. Without contents nothing can be opened."""
    texts = [change for change in changes if change.after is not None and change.mode != SYMLINK]
    if not texts:
        screen.show("There is no text to edit in this change.")
        return changes
    rows = [printable(change.path) for change in texts]
    chosen = await screen.pick("Which file?", rows) if len(texts) > 1 else 0
    if chosen is None:
        return changes
    change, after = texts[chosen], texts[chosen].after
    edited = replace(change, after=await screen.edit(after or b"", change.path))
    found = tuple(edited if each is change else each for each in changes)
    return tuple(each for each in found if each.before != each.after or each.mode != each.mode_before)


async def edit_piece(screen: Screen, piece: Piece) -> bool:
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


async def _edit_new_file(screen: Screen, piece: Piece) -> bool:
    assert piece.change is not None and piece.change.after is not None
    before = piece.edited if isinstance(piece.edited, bytes) else piece.change.after
    after = await screen.edit(before, piece.path)
    piece.edited = None if after == piece.change.after else after
    return True
