"""Pieces of a reply as others may see them: a word once it is whole, and no secret."""

from dataclasses import dataclass, field, replace
from typing import Final

from kith.context.redact import Redactor
from kith.core.events import Delta, Event

_LONGEST: Final = 2_000  # characters of a line, or a word, that is waited for
_KEY: Final = "PRIVATE KEY-----"


@dataclass(slots=True)
class Pieces:
    """What came of the present line; `_told` characters of it, without its secrets, were shown.

    The end of a reply is not waited for: the log holds it whole a moment later.
    """

    redactor: Redactor = field(default_factory=Redactor)
    _of: tuple[str, ...] = ()
    _line: str = ""
    _told: int = 0

    def take(self, event: Event, path: tuple[str, ...]) -> Event | None:
        """The event as it may be shown; None while it is part of a word."""
        if not isinstance(event, Delta):
            return event
        if self._of != (event.kind, *path):
            self._of, self._line, self._told = (event.kind, *path), "", 0
        self._line += event.text
        shown = self._ready()
        return replace(event, text=shown) if shown else None

    def _ready(self) -> str:
        if self._line.count(_KEY) % 2:  # until its end has come
            return ""
        end = 1 + max(self._line.rfind(each) for each in (" ", "\n", "\t"))
        if len(self._line) - end > _LONGEST:
            end = len(self._line)
        shown = self.redactor.clean(self._line[:end])[0]
        news, self._told = shown[self._told :], len(shown)
        begin = 1 + self._line.rfind("\n", 0, end)
        if begin or end > _LONGEST:
            begin = begin or end
            self._line, self._told = self._line[begin:], len(self.redactor.clean(self._line[begin:end])[0])
        return news
