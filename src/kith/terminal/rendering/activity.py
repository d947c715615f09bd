"""What goes on, a line each: a tool that runs or ran, a prompt that is read, and what is waited for."""

from typing import Final

from kith.core.events import Progress, ToolBegan
from kith.terminal.rendering.glyphs import UNICODE, Glyphs
from kith.terminal.rendering.spans import Line, Span, columns_of, cut, merged, shown
from kith.view.items import ToolUse
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
    """A tool that runs: `⠋ bash  pytest -q  4 s`."""
    sign = Span(f"{spinner(seconds, glyphs)} ", "accent")
    return _beside(
        (sign, *_named(began.name, began.target)), f"{seconds:.0f} s" if seconds >= 1 else "", width, glyphs
    )


def tool_line(use: ToolUse, width: int, glyphs: Glyphs = UNICODE) -> Line:
    """A tool that ran: `✓ read  src/stats.py, 40 lines`."""
    sign = Span(f"{glyphs.good} ", "good") if use.ok else Span(f"{glyphs.bad} ", "bad")
    ended = use.ended
    took = f"{ended.seconds:.1f} s" if ended and ended.seconds >= _SHOWN_S else ""
    if ended and ended.ran:
        said = (Span("$ ", "dim"), Span(_first(ended.ran.command), ""))
        failed = ended.ran.code or ended.ran.timed_out
        ending = (Span(f"  {word_exit(ended.ran)}", "bad" if failed else "dim"),)
        return _beside((sign, *said), took, width, glyphs, ending)
    words = (ended.line.strip() if ended else "") or use.target
    return _beside((sign, *_named(use.name, words, "dim" if use.ok else "bad")), took, width, glyphs)


def progress_line(event: Progress, seconds: float, width: int, glyphs: Glyphs = UNICODE) -> Line:
    """How far something slow is: `⠋ reading  ━━━━━━╌╌╌╌  4,096 of 9,000 tokens  about 12 s left`."""
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


def _named(name: str, words: str, role: str = "dim") -> Line:
    return (Span(shown(name)), Span(f"  {_first(words)}", role))


def _first(text: str) -> str:
    return shown(text.strip().partition("\n")[0])


def _beside(line: Line, took: str, width: int, glyphs: Glyphs, ending: Line = ()) -> Line:
    """A line with what must not be cut behind it: how it ended, and its time."""
    end = (*ending, *((Span(f"  {took}", "dim"),) if took else ()))
    room = max(width - columns_of(end), _LEAST)
    return cut(merged((*cut(line, room, glyphs.more), *end)), width, glyphs.more)
