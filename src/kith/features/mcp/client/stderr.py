"""The last lines that a program writes to its standard error, which nobody has to wait for."""

import os
from collections import deque
from threading import Thread
from typing import IO, Final

from kith.features.mcp.client.words import clean_words

_LINES: Final = 20
_LONGEST: Final = 300  # characters of a line


class LastLines:
    """A pipe that is always read, and of which the end is kept.

    `file` is for the program, and must be closed here once that has it, so that the reading ends with it.
    """

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self.file: IO[str] = os.fdopen(writing, "w")
        self._lines = deque[str](maxlen=_LINES)
        self._thread = Thread(target=self._read, args=(reading,), daemon=True)
        self._thread.start()

    def _read(self, reading: int) -> None:
        with os.fdopen(reading, encoding="utf-8", errors="replace") as pipe:
            while line := pipe.readline(8_192):
                if shown := clean_words(line, _LONGEST):
                    self._lines.append(shown)

    def text(self, wait_s: float = 0.0) -> str:
        """The last lines, as far as they are there; `wait_s`: how long to wait for the rest of them."""
        self._thread.join(wait_s)
        return "\n".join(tuple(self._lines))
