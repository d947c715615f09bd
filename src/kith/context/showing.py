"""How much of a project is shown in front of a task."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from kith.context.snippets import fenced
from kith.context.symbols import find_symbols


@dataclass(frozen=True, slots=True)
class Showing:
    """Of how many files excerpts are shown (0: as many as fit), and whether only their definitions' heads.

    `room`: times the tokens that the whole block may take.
    """

    room: float = 1.0
    files: int = 0
    signatures: bool = False

    def choose(self, sources: Mapping[str, str]) -> dict[str, str]:
        """The files to excerpt, of `sources` (path to text, the most important first)."""
        return dict(islice(sources.items(), self.files or None))


ALL: Final = Showing()


def show_signatures(path: str, text: str) -> str:
    """A file's name and the first line of each definition, with its number; "" for a file without any."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    firsts = dict.fromkeys(symbol.first for symbol in find_symbols(path, "\n".join(lines)))
    shown = [f"{first}\t{lines[first - 1]}" for first in firsts]
    return fenced(f"{path}, definitions in {len(lines)} lines", shown) if shown else ""
