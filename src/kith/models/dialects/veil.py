"""A reply as it streams, without the syntax of its calls."""

import re
from dataclasses import dataclass
from typing import Final

from kith.core.events import Delta, Event
from kith.core.model import Emit

_MARKS: Final = (
    "<tool_call>",
    "<function=",
    "[TOOL_CALLS]",
    "[TOOL_REQUEST]",
    "<|python_tag|>",
    "<|python_start|>",
    "<|channel|>",
)
_MARK: Final = re.compile("|".join(map(re.escape, _MARKS)))
_BEGINNINGS: Final = frozenset(mark[:length] for mark in _MARKS for length in range(1, len(mark)))
_LONGEST: Final = max(map(len, _MARKS)) - 1


@dataclass(slots=True)
class Veil:
    """Hands events on; what streams as words counts as "tool" from the first mark of a call on.

    With `closed` from the start, all of it does.
    """

    emit: Emit
    closed: bool = False
    _shown: str = ""
    _held: str = ""  # the end of what came, which may be the beginning of a mark

    def hear(self, event: Event) -> None:
        """Take the next event."""
        if not (isinstance(event, Delta) and event.kind == "text"):
            self.emit(event)
        elif self.closed:
            self.emit(Delta(event.text, "tool"))
        else:
            self._take(self._held + event.text)

    def _take(self, text: str) -> None:
        mark = _MARK.search(text)
        if mark:
            self.closed, self._held = True, ""
            self._show(text[: mark.start()])
            self.emit(Delta(text[mark.start() :], "tool"))
            return
        lengths = range(min(_LONGEST, len(text)), 0, -1)
        keep = next((length for length in lengths if text[-length:] in _BEGINNINGS), 0)
        self._held = text[len(text) - keep :]
        self._show(text[: len(text) - keep])

    def _show(self, text: str) -> None:
        if text:
            self._shown += text
            self.emit(Delta(text))

    def end(self, words: str) -> None:
        """Show what is left of the reply's words, once it is known what they are."""
        if words.startswith(self._shown):
            self._show(words[len(self._shown) :])
