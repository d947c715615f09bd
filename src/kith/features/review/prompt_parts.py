"""Cut a change into parts for prompts: hunks with line numbers, and the definitions that they name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kith.context.budget import ASSUMED_WINDOW, estimate_tokens
from kith.context.outline import Definition, find_references, last_part
from kith.context.rank_files import kind_of
from kith.context.symbols import Symbol, find_symbols
from kith.edits import Hunk
from kith.features.review.changed_files import Sheet

_LARGEST_ROOM: Final = 4_000  # tokens of one request; a model sees more in less
_SMALL_ROOM: Final = 1_500
_LONGEST_LINE: Final = 400  # characters; what is longer is data
_EXCERPT: Final = 40  # lines of one definition
_NAMES: Final = 12  # of a part that are looked up beyond the changed files
_GAP: Final = "..."

# Where a name is defined in the tree, outside the change.
Lookup = Callable[[str], Sequence[tuple[Definition, str]]]


@dataclass(frozen=True, slots=True)
class PromptPart:
    """Some hunks of one file as the model reads them, and the first and last line they hold."""

    path: str
    first: int
    last: int
    text: str


def room_of(window: int, small: bool) -> int:
    """Tokens for the hunks of one request, and as many again for what they name: together half the window."""
    return min((window or ASSUMED_WINDOW) // 4, _SMALL_ROOM if small else _LARGEST_ROOM)


def is_for_models(sheet: Sheet) -> bool:
    """True if a model should read a file: code and its tests, never one that may hold secrets."""
    return kind_of(sheet.path) in ("source", "test") and bool(sheet.hunks)


def make_parts(sheets: Mapping[str, Sheet], room: int, *, one_by_one: bool = False) -> tuple[PromptPart, ...]:
    """The change in parts of at most `room` tokens: whole files where they fit, hunks, or pieces of these."""
    return tuple(
        part for sheet in sheets.values() if is_for_models(sheet) for part in _parts(sheet, room, one_by_one)
    )


def _parts(sheet: Sheet, room: int, one_by_one: bool) -> Iterator[PromptPart]:
    pending: list[list[_Row]] = []
    for rows in (piece for hunk in sheet.hunks for piece in _pieces(_rows(hunk), room)):
        if pending and (one_by_one or _cost([*pending, rows]) > room):
            yield _part(sheet, pending)
            pending = []
        pending.append(rows)
    if pending:
        yield _part(sheet, pending)


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of a hunk: its number in the new side, 0 when it is gone, and as the model sees it."""

    number: int
    text: str


def _rows(hunk: Hunk) -> list[_Row]:
    """The lines as `12\t text`: number, sign, text. A removed line has no number."""
    rows, number = list[_Row](), hunk.new_start or 1
    for line in hunk.lines:
        sign, words = line[:1], line[1 : 1 + _LONGEST_LINE]
        if sign == "-":
            rows.append(_Row(0, f"\t-{words}"))
        elif sign in ("+", " "):
            rows.append(_Row(number, f"{number}\t{sign}{words}"))
            number += 1
    return rows


def _pieces(rows: list[_Row], room: int) -> Iterator[list[_Row]]:
    """A hunk, or as many pieces of it as it takes."""
    piece, cost = list[_Row](), 0
    for row in rows:
        price = estimate_tokens(row.text + "\n")
        if piece and cost + price > room:
            yield piece
            piece, cost = [], 0
        piece.append(row)
        cost += price
    yield piece


def _cost(hunks: Sequence[Sequence[_Row]]) -> int:
    return estimate_tokens(_show(hunks))


def _show(hunks: Sequence[Sequence[_Row]]) -> str:
    return f"\n{_GAP}\n".join("\n".join(row.text for row in rows) for rows in hunks)


def _part(sheet: Sheet, hunks: Sequence[Sequence[_Row]]) -> PromptPart:
    numbers = [row.number for rows in hunks for row in rows if row.number]
    return PromptPart(sheet.path, min(numbers, default=1), max(numbers, default=1), _show(hunks))


# --- what the lines speak of -----------------------------------------------------------------


def define_names(part: PromptPart, sheets: Mapping[str, Sheet], lookup: Lookup, room: int) -> str:
    """The definitions around and behind a part, numbered, in at most `room` tokens; the nearest first."""
    blocks, left = list[str](), room
    for path, first, text in _definitions(part, sheets, lookup):
        block = f"{path}\n" + "\n".join(
            f"{number}\t {line[:_LONGEST_LINE]}" for number, line in enumerate(text.split("\n"), first)
        )
        cost = estimate_tokens(block + "\n\n")
        if cost <= left:
            blocks.append(block)
            left -= cost
    return "\n\n".join(blocks)


def _definitions(
    part: PromptPart, sheets: Mapping[str, Sheet], lookup: Lookup
) -> Iterator[tuple[str, int, str]]:
    """Path, first line and text: what encloses the part, then what it names, here, nearby and in the tree."""
    names = find_references(part.path, _without_numbers(part.text))
    known = set[str]()
    for sheet in sorted(sheets.values(), key=lambda each: each.path != part.path):
        symbols = find_symbols(sheet.path, sheet.after)
        wanted = [each for each in symbols if _speaks_of(part, sheet, each, names)]
        known |= {last_part(each.name) for each in symbols}
        for symbol in sorted(wanted, key=lambda each: not _encloses(each, part)):
            last = min(symbol.last, symbol.first + _EXCERPT - 1)
            yield sheet.path, symbol.first, sheet.text(symbol.first, last)
    unknown = [name for name, _ in names.most_common() if name not in known][:_NAMES]
    for name in unknown:
        for definition, text in lookup(name):
            yield definition.path, definition.first, text


def _without_numbers(text: str) -> str:
    return "\n".join(line.partition("\t")[2][1:] for line in text.split("\n"))


def _encloses(symbol: Symbol, part: PromptPart) -> bool:
    return symbol.first <= part.first and part.last <= symbol.last


def _speaks_of(part: PromptPart, sheet: Sheet, symbol: Symbol, names: Mapping[str, int]) -> bool:
    """True if a definition should be shown beside a part: not one that the part contains."""
    if symbol.sort in ("namespace",) or symbol.last - symbol.first > 10 * _EXCERPT:
        return False
    if sheet.path == part.path:
        inside = part.first <= symbol.first and symbol.last <= part.last
        touches = symbol.first <= part.last and part.first <= symbol.last
        if inside:
            return False
        if touches:
            return symbol.sort != "class"
    return last_part(symbol.name) in names
