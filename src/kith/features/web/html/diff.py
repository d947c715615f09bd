"""Draw changed files for a person: pieces to keep or leave, one below the other or side by side.

A style sheet decides how rows are read. So each run of removed and added rows is a body of its own, and what
stayed stands in a row twice.
"""

import json
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby, pairwise
from typing import Final

from msgspec import Struct

from kith.core.values import EXECUTABLE, FILE, SYMLINK, FileChange
from kith.edits.pieces import Piece, pieces_of
from kith.edits.rows import Spans, changed_words
from kith.terminal.rendering import code
from kith.terminal.rendering.spans import Line
from kith.view.lines import count
from kith.view.markup import NOTHING, Html, element, joined, text, visible

# The colours of code on a page: where in a text which kind of word stands, if pygments is there to
# tell.

Token = tuple[int, int, str]  # from, to (characters), and a class of review.css

_CLASSES: Final = {
    "code.comment": "t-c",
    "code.keyword": "t-k",
    "code.string": "t-s",
    "code.number": "t-n",
    "code.name": "t-f",
}
_LONGEST: Final = 1_000  # characters of a line; beyond it a text was written by no person
_MOST: Final = 20_000  # characters of a text


def colour_lines(lines: Sequence[str], path: str) -> list[list[Token]]:
    """The coloured words of each line, in order; none in a language that is not known, or too long a text."""
    language = code.language_of(path)
    sizes = [len(line) for line in lines]
    if not language or sum(sizes) > _MOST or max(sizes, default=0) > _LONGEST:
        return [[] for _ in lines]
    return [list(_tokens(line)) for line in code.colour_lines(lines, language)]


def _tokens(line: Line) -> Iterator[Token]:
    at = 0
    for words, role in line:
        end = at + len(words)
        if role in _CLASSES and words.strip():
            yield at, end, _CLASSES[role]
        at = end


_OPEN_FILE: Final = 400  # changed lines of a file, from which on it is folded
_OPEN_ALL: Final = 2_000  # changed lines that are open at once
_COLOURED: Final = 40_000  # characters of diffs; beyond it colours take longer than anybody waits
_MODES: Final = {FILE: "an ordinary file", EXECUTABLE: "executable", SYMLINK: "a symbolic link"}
_PLANNED: Final = {True: "planned", False: "unplanned"}
_BEGUN: Final = {"new file mode ": "new", "deleted file mode ": "deleted"}


def diff_html(files: Sequence[FileChange], choose: bool = False) -> Html:
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
    return element("div", _bar(len(files), added, removed), *shown, class_=f"diff{many}")


def show_path(path: str) -> str:
    """A path in one line, whatever it holds."""
    return visible(path).replace("\n", "\\n").replace("\t", "\\t")


def _bar(number: int, added: int, removed: int) -> Html:
    beside = element("input", type="checkbox", class_="beside", autocomplete="off")
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
        element("span", _PLANNED[file.planned], class_="dim") if file.planned is not None else NOTHING,
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
    """Describe content that is not text."""
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


_OPEN_END: Final = '<i class="mark">no line break at the end</i>'


class DiffRow(Struct):
    """A line of a piece: its sign, its words, and its numbers before and after ("" where it is not)."""

    sign: str
    words: str
    old: str = ""
    new: str = ""
    tokens: Sequence[Token] = ()
    changed: Spans | tuple[()] = ()
    open_end: bool = False


def table_html(piece: Piece, path: str, label: str, coloured: bool = True) -> Html:
    """A piece that is text; `label` says which one to people who do not see it."""
    rows = list(_read(piece))
    if coloured:
        _colour(rows, path)
    bodies = []
    for stayed, group in groupby(rows, key=lambda row: row.sign == " "):
        block = list(group)
        if not stayed:
            _mark_words(block)
        bodies.append(f"<tbody>{''.join(map(_row, block))}</tbody>")
    return Html(f'<table class="rows" aria-label="{text(label)}">{"".join(bodies)}</table>')


def has_crlf(piece: Piece) -> bool:
    """True when every line ends as on Windows: then the ends are not shown line by line."""
    return all(line.endswith("\r") for line in piece.lines if line[0] != "\\")


def _read(piece: Piece) -> Iterator[DiffRow]:
    old, new = piece.start or 0, piece.new_start or 0
    end = "\r" if has_crlf(piece) else ""
    lines = (*piece.lines, "")
    for line, after in pairwise(lines):
        sign = line[0]
        if sign == "\\":
            continue
        is_old, is_new = sign in " -", sign in " +"
        words = visible(line[1:].removesuffix(end))
        yield DiffRow(sign, words, str(old) * is_old, str(new) * is_new, open_end=after.startswith("\\"))
        old, new = old + is_old, new + is_new


def _colour(rows: Sequence[DiffRow], path: str) -> None:
    """Each side is read as one text, so that what begins in one line and ends in another is known."""
    for sign in sorted({row.sign for row in rows} - {" "}, reverse=True):
        side = [row for row in rows if row.sign in (sign, " ")]
        for row, tokens in zip(side, colour_lines([row.words for row in side], path), strict=True):
            row.tokens = tokens


def _mark_words(block: Sequence[DiffRow]) -> None:
    """Hold the removed rows against the added ones, one by one."""
    removed, added = ([row for row in block if row.sign == sign] for sign in "-+")
    for old, new in zip(removed, added, strict=False):
        old.changed, new.changed = changed_words(old.words, new.words)


def _row(row: DiffRow) -> str:
    words = _marked(row) + (_OPEN_END if row.open_end else "")
    numbers = f"<td>{row.old}</td><td>{row.new}</td><td>{words}</td>"
    if row.sign == " ":
        return f'<tr>{numbers}<td aria-hidden="true">{words}</td></tr>'
    return f'<tr class="{"del" if row.sign == "-" else "add"}">{numbers}</tr>'


def _marked(row: DiffRow) -> str:
    """The words of a row as HTML: colours, and what changed in the element that means it."""
    element = "del" if row.sign == "-" else "ins"
    out, done = [], 0
    for begin, end in row.changed:
        out += [_coloured(row, done, begin), f"<{element}>{_coloured(row, begin, end)}</{element}>"]
        done = end
    return "".join([*out, _coloured(row, done, len(row.words))])


def _coloured(row: DiffRow, begin: int, end: int) -> str:
    out = []
    for left, right, name in row.tokens:
        left, right = max(left, begin), min(right, end)
        if left < right:
            out.append(
                f'{escape(row.words[begin:left])}<span class="{name}">{escape(row.words[left:right])}</span>'
            )
            begin = right
    return "".join([*out, escape(row.words[begin:end])])
