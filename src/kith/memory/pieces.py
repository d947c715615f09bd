"""Pieces of a reply as they may be shown: a word once it is whole, and no secret."""

import re
from dataclasses import dataclass, field, replace
from typing import Final

from kith.context.redact import Redactor
from kith.core.events import Called, Delta, Event, RunEnded, Said

_LONGEST: Final = 2_000  # characters of a line, or a word, that is waited for
_SHORT: Final = 12  # characters of a word that tell nothing of a secret that it may be the beginning of
_KEY: Final = "PRIVATE KEY-----"
# Up to the last place where a word is whole: a blank, or a letter of a language that writes without any.
_WORDS: Final = re.compile(r"(?s).*[\s\u2e80-\U0003ffff]")


@dataclass(slots=True)
class _Line:
    """The present line of what a reply says, thinks or calls: `seen` characters of it were looked at.

    `told`: so many characters of what that left were shown. `one` is any piece of it.
    """

    one: Delta
    text: str = ""
    seen: int = 0
    told: int = 0


@dataclass(slots=True)
class Pieces:
    """The replies that are coming in; several may at once, each in a step of its own."""

    redactor: Redactor = field(default_factory=Redactor)
    _lines: dict[tuple[str, ...], dict[str, _Line]] = field(default_factory=dict)

    def take(self, event: Event, path: tuple[str, ...]) -> Event | None:
        """The event as it may be shown; None while it is part of a word."""
        if not isinstance(event, Delta):
            return event
        line = self._lines.setdefault(path, {}).setdefault(event.kind, _Line(event))
        line.text += event.text
        shown = self._show(line, self._whole(line.text))
        return replace(event, text=shown) if shown else None

    def turn(self, event: Event, path: tuple[str, ...]) -> tuple[Event, ...]:
        """The last word of what was said, before the reply goes on with something else; a long one waits."""
        lines = self._lines.get(path, {}) if isinstance(event, Delta) else {}
        others = (line for kind, line in lines.items() if kind != getattr(event, "kind", ""))
        short = (line for line in others if len(line.text) - line.seen <= _SHORT and _KEY not in line.text)
        rests = [(line.one, self._show(line, len(line.text))) for line in short]
        return tuple(replace(one, text=rest) for one, rest in rests if rest)

    def end(self, event: Event, path: tuple[str, ...]) -> tuple[Event, ...]:
        """The last pieces of the reply that this event ends."""
        if isinstance(event, RunEnded):  # what was cut off with it is told no more
            self._lines.clear()
        lines = self._lines.pop(path, {}).values() if isinstance(event, Called | Said) else ()
        rests = [(line.one, self._show(line, len(line.text))) for line in lines]
        return tuple(replace(one, text=rest) for one, rest in rests if rest)

    def _whole(self, text: str) -> int:
        """Up to where nothing that is still to come can make a secret of it."""
        if text.count(_KEY) % 2:  # until its end has come
            return 0
        words = None if self.redactor.has_phrases else _WORDS.match(text)
        end = words.end() if words else 1 + text.rfind("\n")
        return end if len(text) - end <= _LONGEST else len(text)

    def _show(self, line: _Line, end: int) -> str:
        """What the line has to tell up to `end` that was not told yet."""
        if end <= line.seen:
            return ""
        shown = self.redactor.clean(line.text[:end])[0]
        news, line.told, line.seen = shown[line.told :], len(shown), end
        begin = 1 + line.text.rfind("\n", 0, end) or (end if end > _LONGEST else 0)
        if begin:
            line.text, line.seen = line.text[begin:], end - begin
            line.told = len(self.redactor.clean(line.text[: line.seen])[0])
        return news
