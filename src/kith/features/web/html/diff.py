"""Changed files as a person reads them: pieces to keep or leave, one below the other or side by side."""

import json
from collections.abc import Sequence
from typing import Final, Literal

from kith.core.values import EXECUTABLE, FILE, SYMLINK, FileChange
from kith.edits.pieces import Piece, pieces_of
from kith.features.web.html.diff_rows import has_crlf, table_html
from kith.view.lines import count
from kith.view.markup import NOTHING, Html, element, joined, visible

View = Literal["unified", "split"]

_OPEN_FILE: Final = 400  # changed lines of a file, from which on it is folded
_OPEN_ALL: Final = 2_000  # changed lines that are open at once
_COLOURED: Final = 40_000  # characters of diffs; beyond it colours take longer than anybody waits
_MODES: Final = {FILE: "an ordinary file", EXECUTABLE: "executable", SYMLINK: "a symbolic link"}
_BEGUN: Final = {"new file mode ": "new", "deleted file mode ": "deleted"}


def diff_html(files: Sequence[FileChange], view: View = "unified", choose: bool = False) -> Html:
    """Every changed file with all of its pieces; large files are folded, and counted.

    With `choose` each piece has a box to keep or leave it and a field for a comment, which `review.js` reads.
    """
    coloured = sum(len(file.diff) for file in files) <= _COLOURED
    shown, lines = [], 0
    for file in files:
        changed = file.added + file.removed
        is_open = changed <= _OPEN_FILE and lines + changed <= _OPEN_ALL
        lines += changed * is_open
        shown.append(_file(file, is_open, choose, coloured))
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    many = " many" if lines > _OPEN_FILE else ""  # then a browser draws only what is looked at
    return element("div", _bar(len(files), added, removed, view), *shown, class_=f"diff{many}")


def show_path(path: str) -> str:
    """A path in one line, whatever it holds."""
    return visible(path).replace("\n", "\\n").replace("\t", "\\t")


def _bar(number: int, added: int, removed: int, view: View) -> Html:
    beside = element("input", type="checkbox", class_="beside", checked=view == "split", autocomplete="off")
    return element(
        "div",
        element("span", f"{count(number, 'file')} ", _counts(added, removed)),
        element("label", beside, "Side by side"),
        class_="diff-bar",
    )


def _counts(added: int, removed: int) -> Html:
    plus, minus = (
        element("span", f"+{added:,}", class_="good"),
        element("span", f"−{removed:,}", class_="bad"),
    )
    return element("span", plus, " ", minus, class_="counts")


# --- one file --------------------------------------------------------------------------------


def _file(file: FileChange, is_open: bool, choose: bool, coloured: bool) -> Html:
    pieces = pieces_of(file)
    path = show_path(file.path)
    parts = [_piece(file, piece, len(pieces), choose, coloured) for piece in pieces]
    kept = element("span", f"{len(pieces)} of {len(pieces)} kept", class_="kept") if choose else NOTHING
    folded = f"{count(file.added + file.removed, 'changed line')}, folded"
    summary = element(
        "summary",
        element("code", path, class_="path"),
        element("span", state, class_="dim") if (state := _state(file)) else NOTHING,
        _counts(file.added, file.removed) if file.added or file.removed else NOTHING,
        kept,
        NOTHING if is_open else element("span", folded, class_="folded dim"),
    )
    # As JSON, since a name may hold bytes that are no text, which a page cannot.
    name = json.dumps(file.path) if choose else None
    return element("details", summary, *parts, class_="file", open=is_open, data_path=name)


def _state(file: FileChange) -> str:
    """`new`, `deleted`, `new, executable`; "" for a file that was there before and is still."""
    line = file.diff.partition("\n")[2].partition("\n")[0]
    for begin, word in _BEGUN.items():
        if line.startswith(begin):
            mode = int(line.removeprefix(begin), 8)
            return word if mode == FILE else f"{word}, {_MODES.get(mode, f'mode {mode:o}')}"
    return ""


# --- one piece -------------------------------------------------------------------------------


def _piece(file: FileChange, piece: Piece, pieces: int, choose: bool, coloured: bool) -> Html:
    path, where = show_path(file.path), _where(piece)
    which = f"part {piece.number + 1} of {pieces} of {path}"
    label = f"{which}, {where}" if where else which
    if piece.start is None:
        body = element("p", _words(piece), class_="words")
    else:
        body = table_html(piece, file.path, label[:1].upper() + label[1:], coloured)
    part = f"Part {piece.number + 1} of {pieces}" if choose or pieces > 1 else ""
    ends = "ends of lines: CRLF" if piece.start is not None and has_crlf(piece) else ""
    head = element("span", " · ".join(filter(None, (part, where, ends))), class_="where dim")
    tools = _tools(which) if choose else NOTHING
    return element(
        "section",
        element("header", head, tools) if part or where or ends else NOTHING,
        body,
        class_="piece",
        aria_label=label[:1].upper() + label[1:],
        data_piece=piece.number if choose else None,
        data_where=where if choose else None,
    )


def _where(piece: Piece) -> str:
    """`lines 12 to 20`, in the file as it will be; "" for what has no lines, or is a whole file."""
    if not piece.start or not piece.new_start:
        return ""
    last = piece.new_start + sum(line[0] in " +" for line in piece.lines) - 1
    return f"lines {piece.new_start} to {last}" if last > piece.new_start else f"line {piece.new_start}"


def _words(piece: Piece) -> str:
    """What is no text, in words."""
    if len(piece.lines) == 2:
        old, new = (int(line.rpartition(" ")[2], 8) for line in piece.lines)
        return f"It was {_MODES.get(old, f'mode {old:o}')}, and becomes {_MODES.get(new, f'mode {new:o}')}."
    return "It is empty." if piece.lines[0].startswith("empty") else "It is no text, and not shown."


def _tools(which: str) -> Html:
    """A box to keep or leave a piece, and a field for words about it, hidden until it is wanted."""
    box = element("input", type="checkbox", checked=True, autocomplete="off", aria_label=f"Keep {which}")
    comment = element(
        "button", "Comment", type="button", class_="bare comment", aria_label=f"Comment on {which}"
    )
    tools = element("span", element("label", box, "Keep", class_="keep"), comment, class_="tools script")
    hint = "What should be different here?"
    field = element("textarea", rows=2, aria_label=f"Comment on {which}", placeholder=hint)
    return joined((tools, element("div", field, class_="said-here", hidden=True)))
