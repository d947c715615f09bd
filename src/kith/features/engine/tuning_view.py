"""Word the measurement of a model, and the choices, as lines for a person."""

import textwrap
import time
from collections.abc import Iterator
from typing import Final

from kith.features.engine.tuning import DRAFT, PLAIN, Speed, Tuning, Way
from kith.view.printing import printable

_WIDTH: Final = 80
_NAME: Final = 20
_COLUMN: Final = 16
_LOOPED: Final = "the plain reply repeats itself: not counted"


def describe_tuning(tuning: Tuning, engine: str = "") -> Iterator[str]:
    """One model's measurement as a table of 80 columns, and the choices.

    `engine` is the version that would run now ("": the one that was measured).
    """
    day = time.strftime("%Y-%m-%d", time.localtime(tuning.at))
    rounds = "1 round" if tuning.rounds == 1 else f"{tuning.rounds} rounds"
    by = ", in CPU time" if tuning.by == "processor" else ""
    yield from _wrap(printable(f"file/{tuning.name}, measured {day}, {rounds}{by}"))
    yield from _wrap(printable(f"on {tuning.machine} with {tuning.engine}"))
    yield ""
    yield f"{'':{_NAME}}{'edit a file':{_COLUMN}}{'write anew':{_COLUMN}}read"
    for way in tuning.ways:
        yield _row(way).rstrip()
    for each in tuning.slot_speeds:
        yield f"{f'{each.slots} answers at once':{_NAME}}{f'{each.ratio:.2f}x':{_COLUMN}}together".rstrip()
    if any(speed.loops for way in tuning.ways for speed in way.speeds):
        yield from _wrap(f"* {_LOOPED}.")
    yield ""
    if engine and engine != tuning.engine:
        yield "Another engine runs models now: measure again with `kith engine tune`."
        return
    for name, choice in choices_of(tuning):
        yield f"{name:{_NAME}}{printable(choice)}"


def choices_of(tuning: Tuning) -> Iterator[tuple[str, str]]:
    """Each choice with its name."""
    best = tuning.speculation
    yield "speculation", "off" if best is None else _name(best)
    yield "flash attention", "off" if tuning.flash_attn == "off" else "on where the engine supports it"
    small = f"f16, or {tuning.small_cache} where memory limits the window" if tuning.small_cache else "f16"
    yield "cache type", small
    yield "slots", "1" if tuning.slots == 1 else f"{tuning.slots} where memory suffices"


def _row(way: Way) -> str:
    if way.trouble or not way.speeds:
        return textwrap.shorten(printable(f"{_name(way):{_NAME}}failed: {way.trouble}"), _WIDTH)
    cells = [_cell(way, speed) for speed in way.speeds]
    read = "" if way.name == PLAIN else f"{min(each.read for each in way.speeds):.2f}x"
    return f"{_name(way):{_NAME}}{''.join(f'{cell:{_COLUMN}}' for cell in cells)}{read:8}{_remark(way)}"


def _cell(way: Way, speed: Speed) -> str:
    mark = "*" if speed.loops else ""
    return f"{speed.tokens_s:.1f} tokens/s{mark}" if way.name == PLAIN else f"{speed.ratio:.2f}x{mark}"


def _remark(way: Way) -> str:
    if way.name == PLAIN:
        return ""
    return "same replies" if all(each.same for each in way.speeds) else "other replies"


def _name(way: Way) -> str:
    name = printable(way.name)
    return name if len(name) < _NAME else f"{name[: _NAME - 2]}…" if way.speculation == DRAFT else name


def _wrap(text: str) -> Iterator[str]:
    yield from textwrap.wrap(text, _WIDTH, subsequent_indent="  ")
