"""Draw what goes on, a line each: tools, prompts that are read, thoughts, and the lines of features."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final

from kith.core.events import Event, Progress, ToolBegan
from kith.settings.features import all_parts
from kith.terminal.rendering.glyphs import UNICODE, Glyphs
from kith.terminal.rendering.spans import MARGIN, Line, Span, columns_of, cut, merged, readable, shown, wrap
from kith.view.items import ToolUse
from kith.view.lines import count, first_line
from kith.view.wording import word_exit

_BAR: Final = 24  # columns, at the most
_SHORTEST: Final = 8
_LEAST: Final = 12  # columns of what is told, before its end is cut
_FRAMES: Final = 8  # of the spinner, each second
_SHOWN_S: Final = 0.1  # what took less has no time beside it


def spinner(seconds: float, glyphs: Glyphs = UNICODE) -> str:
    """The frame of the moving sign after so many seconds."""
    return glyphs.spinner[int(seconds * _FRAMES) % len(glyphs.spinner)]


def running_line(began: ToolBegan, seconds: float, width: int, glyphs: Glyphs = UNICODE) -> Line:
    """A tool that runs: `⠋ $ pytest -q  4 s`."""
    sign = Span(f"{spinner(seconds, glyphs)} ", "accent")
    return _beside((sign, *_begun(began)), f"{seconds:.0f} s" if seconds >= 1 else "", width, glyphs)


def stopped_line(began: ToolBegan, seconds: float, width: int, glyphs: Glyphs = UNICODE) -> Line:
    """A tool that somebody stopped: `✗ $ pytest -q  stopped  4.0 s`."""
    sign, ending = Span(f"{glyphs.bad} ", "bad"), (Span("  stopped", "bad"),)
    took = f"{seconds:.1f} s" if seconds >= _SHOWN_S else ""
    return _beside((sign, *_begun(began)), took, width, glyphs, ending)


def tool_line(use: ToolUse, width: int, glyphs: Glyphs = UNICODE) -> Line:
    """A tool that ran: `✓ read  src/stats.py, 40 lines`."""
    sign = Span(f"{glyphs.good} ", "good") if use.ok else Span(f"{glyphs.bad} ", "bad")
    ended = use.ended
    took = f"{ended.seconds:.1f} s" if ended and ended.seconds >= _SHOWN_S else ""
    if ended and ended.ran:
        said = _command(ended.ran.command)
        failed = ended.ran.code or ended.ran.timed_out
        ending = (Span(f"  {word_exit(ended.ran)}", "bad" if failed else "dim"),)
        return _beside((sign, *said), took, width, glyphs, ending)
    words = (ended.line.strip() if ended else "") or use.target
    return _beside((sign, *_named(use.name, words, "dim" if use.ok else "bad")), took, width, glyphs)


def progress_line(event: Progress, seconds: float, width: int, glyphs: Glyphs = UNICODE) -> Line:
    """The progress of slow work: `⠋ reading  ━━━━━━╌╌╌╌  4,096 of 9,000 tokens  about 12 s left`."""
    what, _, rest = event.what.partition(", ")
    sign = (
        Span(f"{spinner(seconds, glyphs)} ", "accent"),
        Span("waiting for the model" if what == "asked" else shown(what)),
    )
    after: Line = (Span(f"  {shown(rest)}", "dim"),) if rest else ()
    took: Line = (Span(f"  {seconds:.0f} s", "dim"),) if seconds >= 1 and not rest else ()
    unit = " tokens" if what.startswith("reading") else ""
    if not event.total or (not event.done and "loading" not in what):
        known = event.done or event.total
        amount: Line = (Span(f"  {known:,}{unit}", "dim"),) if known else ()
        return cut((*sign, *amount, *after, *took), width, glyphs.more)
    percent = f"  {100 * event.done // event.total}%"
    counted = percent if "loading" in what else f"  {event.done:,} of {event.total:,}{unit}"
    for amount in ((Span(counted),), (Span(percent),)):
        room = min(_BAR, width - columns_of((*sign, *amount, *after, *took)) - 2)
        if room >= _SHORTEST:
            break
    bar = (Span("  "), *bar_line(event.done / event.total, room, glyphs)) if room >= _SHORTEST else ()
    return cut(merged((*sign, *bar, *amount, *after, *took)), width, glyphs.more)


def bar_line(share: float, width: int, glyphs: Glyphs = UNICODE) -> Line:
    """A bar of which a share is reached."""
    reached = round(width * min(max(share, 0.0), 1.0))
    return (Span(glyphs.reached * reached, "bar"), Span(glyphs.ahead * (width - reached), "bar.free"))


def _begun(began: ToolBegan) -> Line:
    return _command(began.target) if began.effect == "exec" else _named(began.name, began.target)


def _command(line: str) -> Line:
    return (Span("$ ", "dim"), Span(_first(line), ""))


def _named(name: str, words: str, role: str = "dim") -> Line:
    return (Span(shown(name)), Span(f"  {_first(words)}", role))


def _first(text: str) -> str:
    return shown(first_line(text))


def _beside(line: Line, took: str, width: int, glyphs: Glyphs, ending: Line = ()) -> Line:
    """A line with what must not be cut behind it: how it ended, and its time."""
    end = (*ending, *((Span(f"  {took}", "dim"),) if took else ()))
    room = max(width - columns_of(end), _LEAST)
    return cut(merged((*cut(line, room, glyphs.more), *end)), width, glyphs.more)


# A model's thoughts: their last lines while it thinks, one line when it is done, all of them on demand.

_LINES: Final = 3  # that are seen while it thinks
_MOST: Final = 400_000  # characters that are kept


class ThinkingBlock:
    """Thoughts as they arrive. `tail` draws their end, `summary` is what stays when they are over."""

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        self._glyphs = glyphs
        self._pieces: list[str] = []
        self._end = ""  # the last characters, which are drawn
        self._words = self._size = 0
        self._in_word = False

    @property
    def text(self) -> str:
        """All thoughts, or as many of them as are kept."""
        return "".join(self._pieces)

    def take(self, piece: str) -> None:
        """One more piece of them."""
        if self._size <= _MOST:
            self._pieces.append(piece)
        self._size += len(piece)
        self._end = (self._end + piece)[-2_000:]
        begun = len(piece.split())
        self._words += begun - (self._in_word and begun > 0 and not piece[:1].isspace())
        self._in_word = not piece[-1:].isspace() if piece else self._in_word

    def tail(self, width: int, most: int = _LINES) -> list[Line]:
        """The last lines, dim."""
        spans = [Span(readable(line), "thinking") for line in self._end.split("\n") if line.strip()]
        lines = [line for span in spans for line in wrap([span], width, MARGIN, MARGIN)]
        return lines[-most:]

    def summary(self, seconds: float, key: str = "Ctrl-O") -> Line:
        """`· thought for 12 s, 340 words (Ctrl-O)`."""
        how_long = f"{seconds:.0f} s" if seconds >= 1 else "a moment"
        opens = f"  ({key})" if key else ""
        words = f"{self._glyphs.note} thought for {how_long}, {count(self._words, 'word')}{opens}"
        return (Span(words, "dim"),)

    def lines(self, width: int) -> list[Line]:
        """All of it, for who wants to read it."""
        spans = [Span(readable(line), "dim") for line in self.text.split("\n")]
        return [line for span in spans for line in wrap([span], width, MARGIN, MARGIN)]


FeatureLine = tuple[str, str]  # a style, and what is said
TellLines = Callable[[Event], Iterable[FeatureLine]]


def feature_lines(event: Event) -> Iterator[FeatureLine]:
    """All lines of all features for an event; most events have none."""
    for tell in _tellers():
        yield from tell(event)


@cache
def _tellers() -> tuple[TellLines, ...]:
    return tuple(all_parts(lambda each: each.lines))
