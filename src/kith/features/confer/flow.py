"""Words as they arrive, broken between words where a line of the terminal ends."""

import re
from dataclasses import dataclass, field

HELD = 24  # columns of a word that is waited for; scripts without blanks would wait for ever


@dataclass(slots=True)
class Flow:
    """A text that comes in pieces: `take` gives what can be shown now, `end` the rest.

    A word is shown when it is whole, since only then it is known whether it fits on the line.
    """

    width: int
    _column: int = field(default=0, init=False)
    _word: str = field(default="", init=False)

    def take(self, piece: str) -> str:
        """What to show after one more piece of the text."""
        *whole, last = re.split(r"(\s)", self._word + piece)
        shown = "".join(map(self._place, whole))
        self._word = last
        return shown if self._columns(last) < HELD else shown + self.end()

    def end(self) -> str:
        """What is held back still."""
        word, self._word = self._word, ""
        return self._place(word)

    def _place(self, part: str) -> str:
        """A word or a blank at the end of what is shown, on a new line if it must be."""
        if part == "\n":
            self._column = 0
            return part
        columns = self._columns(part)
        if self._column + columns <= self.width or not self._column:
            self._column += columns
            return part
        if part.isspace():  # the next word begins a line
            return ""
        self._column = columns
        return f"\n{part}"

    def _columns(self, part: str) -> int:
        from rich.cells import cell_len

        return 8 if part == "\t" else cell_len(part)
