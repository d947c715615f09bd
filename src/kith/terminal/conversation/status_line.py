"""The last line of the screen: model, window, cache, speed, time, money, mode, and where bytes went."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct, field

from kith.core.events import Engaged, Event
from kith.core.numbers import dollars
from kith.terminal.conversation.modes import Mode, badge
from kith.terminal.rendering.spans import cells, cut, plain, shown, words
from kith.view.lines import figure
from kith.view.meter import Meter

_GAP: Final = "  "
_NAME: Final = 40  # columns of a model's name: it is whatever its server says


class StatusLine(Struct):
    """The status line; `hear` is called by the thread that works, `line` by the one that draws."""

    mode: Mode = "ask"
    meter: Meter = field(default_factory=Meter)
    places: list[str] = field(default_factory=list)  # that were sent anything, in the order of the first time
    clock: Callable[[], float] = time.time
    listed: Callable[[Engaged], str] = lambda engaged: engaged.model  # the name by which a person knows it
    names: dict[str, str] = field(default_factory=dict)  # of models that are not called so in the log
    more: Callable[[], Iterable[str]] = tuple  # words of features

    def hear(self, event: Event) -> None:
        """One more event."""
        self.meter.take(event, self.clock())
        if isinstance(event, Engaged):
            self.names[event.model] = self.listed(event)
            if (place := place_of(event)) not in ("", *self.places):
                self.places.append(place)

    def name_of(self, model: str) -> str:
        """A model of the log by the name that the person knows."""
        return self.names.get(model, model)

    def begin_with(self, model: str, window: int) -> None:
        """Another conversation, or another model: nothing was measured of it yet."""
        self.meter = Meter(model, window)

    def line(self, width: int) -> str:
        """As much as fits, the most important things first; with colours (ANSI)."""
        parts, used = [badge(self.mode)], len(self.mode) + len("  mode ")
        for part in self._parts():
            if used + len(_GAP) + cells(part) < width:
                parts.append(f"\x1b[2m{part}\x1b[0m")
                used += len(_GAP) + cells(part)
        return _GAP.join(parts)

    def _parts(self) -> Iterator[str]:
        meter = self.meter
        if meter.model:
            yield plain(cut(words(self.name_of(meter.model)), _NAME))
        if meter.window and meter.held:
            yield f"{_thousands(meter.held)}/{_thousands(meter.window)} {meter.held / meter.window:.0%}"
        if meter.usd:
            yield dollars(meter.usd)
        if meter.reused is not None:
            yield f"cache {meter.reused:.0%}"
        if meter.read_rate:
            yield f"reads {figure(meter.read_rate)} writes {figure(meter.write_rate)} tok/s"
        if meter.began:
            yield _took((self.clock() if meter.running else meter.last) - meter.began)
        yield from map(shown, self.more())
        if self.places:
            yield f"-> {', '.join(map(shown, self.places))}"


def place_of(event: Engaged) -> str:
    """The destination of this model's prompts: a host, or this machine's own engine; "" for none."""
    return urlsplit(event.server).netloc or event.server


def _thousands(tokens: int) -> str:
    return f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)


def _took(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
