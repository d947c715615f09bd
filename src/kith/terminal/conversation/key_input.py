"""Read keys from the terminal: notice unmarked pastes by their speed, and the focus of the window."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from prompt_toolkit.input import Input
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from kith.terminal.conversation.background import AnswerFilter

_LINE_ENDS: Final = (Keys.ControlM, Keys.ControlJ)
_MORE_S: Final = 0.2  # a burst that comes so soon after a paste belongs to it
# DEC private mode 1004, as xterm has it: the terminal says when its window gains or loses the focus.
FOCUS_ON: Final = "\x1b[?1004h"
FOCUS_OFF: Final = "\x1b[?1004l"
_FOCUS: Final = {"\x1b[I": True, "\x1b[O": False}
ANSI_SEQUENCES.update(dict.fromkeys(_FOCUS, Keys.Ignore))


class KeyReader:
    """Keys on their way from the terminal's parser to the key bindings.

    Nobody types a line end and the next letter in one read, so such a burst is a paste. It is held until the
    terminal is quiet: the application flushes its input then. `has_focus` is None until the terminal says it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._held: list[KeyPress] = []
        self._pasted = float("-inf")  # when the last paste was over
        self.has_focus: bool | None = None

    def read(self, keys: Sequence[KeyPress]) -> list[KeyPress]:
        """The keys of one read that can be handled at once."""
        kept = self._without_focus(keys)
        if not self._held and not _is_burst(kept):
            return kept
        self._held += kept
        return [] if all(map(_is_text, kept)) else self.flush()

    def flush(self, keys: Sequence[KeyPress] = ()) -> list[KeyPress]:
        """Keys that were held back, and `keys`: nothing came for a while."""
        held, self._held = self._held, []
        return [*self._join(held), *self._without_focus(keys)]

    def _without_focus(self, keys: Sequence[KeyPress]) -> list[KeyPress]:
        for key in keys:
            self.has_focus = _FOCUS.get(key.data, self.has_focus)
        return [key for key in keys if key.data not in _FOCUS]

    def _join(self, held: list[KeyPress]) -> list[KeyPress]:
        """A paste as one key where it is one; what is no text stays behind it."""
        size = next((at for at, key in enumerate(held) if not _is_text(key)), len(held))
        text, rest = held[:size], held[size:]
        data = "".join(key.data for key in text)
        goes_on = _is_burst(text) and self._clock() - self._pasted < _MORE_S
        if not goes_on and not _has_lines(data):
            return held
        self._pasted = self._clock()
        return [KeyPress(Keys.BracketedPaste, data), *rest]


def _is_text(key: KeyPress) -> bool:
    return not isinstance(key.key, Keys) or key.key in _LINE_ENDS or key.key == Keys.ControlI


def _is_burst(keys: Sequence[KeyPress]) -> bool:
    """True where letters and a line end came together."""
    has_end = any(key.key in _LINE_ENDS for key in keys)
    return has_end and any(not isinstance(key.key, Keys) for key in keys)


def _has_lines(data: str) -> bool:
    """True for a line end between other characters; the one behind typed words sends them."""
    inside = data.strip("\r\n")
    return "\r" in inside or "\n" in inside


def open_input(reader: KeyReader, answers: AnswerFilter) -> Input | None:
    """The terminal on stdin, read through both; None where prompt_toolkit's own has to do."""
    if sys.platform == "win32" or not sys.stdin.isatty():
        return None
    from prompt_toolkit.input.posix_utils import PosixStdinReader
    from prompt_toolkit.input.vt100 import Vt100Input

    class StdinReader(PosixStdinReader):
        def read(self, count: int = 1024) -> str:
            return answers.take(super().read(count))

    class KeyInput(Vt100Input):
        def read_keys(self) -> list[KeyPress]:
            return reader.read(super().read_keys())

        def flush_keys(self) -> list[KeyPress]:
            self.vt100_parser.feed(answers.flush())
            return reader.flush(super().flush_keys())

    keys = KeyInput(sys.stdin)
    keys.stdin_reader = StdinReader(keys.fileno(), encoding=keys.stdin.encoding)
    return keys
