"""Where any of many values stands in a text, in the time that the text alone takes."""

from collections.abc import Iterable, Iterator
from typing import Final

_BLOCK: Final = 8  # characters that are looked up at once
PIECE: Final = 2 * _BLOCK - 1  # characters of the shortest piece that holds a whole block wherever it begins

Places = dict[str, list[tuple[str, int]]]  # a block of characters -> the values that hold it, and where


class Occurrences:
    """Finds `values` as a whole, and of those `in_pieces` also every piece of 15 characters and more.

    The text is cut into blocks. Wherever a value begins, it holds a block that begins among its first
    characters, so only these are looked up: the time is that of the text alone.
    """

    def __init__(self, values: Iterable[str], in_pieces: Iterable[str] = ()) -> None:
        self._whole: dict[int, Places] = {}
        for value in values:
            size = _block_of(value)
            _add(self._whole.setdefault(size, {}), value, size, range(size))
        self._parts: Places = {}
        for value in in_pieces:
            _add(self._parts, value, _BLOCK, range(len(value) - _BLOCK + 1))

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """From where to where something stands, in no order; places may overlap."""
        for size, blocks in self._whole.items():
            for at, value, begin in _met(text, blocks, size):
                if at >= begin and text.startswith(value, at - begin):
                    yield at - begin, at - begin + len(value)
        seen: dict[str, int] = {}  # up to where pieces of a value are known
        for at, value, begin in _met(text, self._parts, _BLOCK):
            if at >= seen.get(value, 0):
                start, end = _grown(text, at, value, begin)
                if end - start >= PIECE:
                    seen[value] = end
                    yield start, end


def _block_of(value: str) -> int:
    """How many characters of a value are looked up: few sizes, since each costs a pass."""
    return _BLOCK if len(value) >= PIECE else 3 if len(value) >= 5 else 1


def _add(blocks: Places, value: str, size: int, begins: range) -> None:
    for begin in begins:
        blocks.setdefault(value[begin : begin + size], []).append((value, begin))


def _met(text: str, blocks: Places, size: int) -> Iterator[tuple[int, str, int]]:
    """Each block of the text that values hold: where it begins in the text, the value, and where in that."""
    if blocks:
        for at in range(0, len(text) - size + 1, size):
            if found := blocks.get(text[at : at + size]):
                yield from ((at, value, begin) for value, begin in found)


def _grown(text: str, at: int, value: str, begin: int) -> tuple[int, int]:
    """The longest piece of `value` around the block of it that stands at `at`."""
    first, last = 0, _BLOCK
    while begin + first > 0 and at + first > 0 and text[at + first - 1] == value[begin + first - 1]:
        first -= 1
    while begin + last < len(value) and at + last < len(text) and text[at + last] == value[begin + last]:
        last += 1
    return at + first, at + last
