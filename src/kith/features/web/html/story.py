"""The log of a session as a list of its items, and as a time line; what each change of an item changes.

The time line has a bar for each step, of what its seconds went into, on a scale that never changes.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Final

from kith.core.values import Timing
from kith.features.web.html.items import id_of, item_html
from kith.features.web.html.patches import LazyPatch, shielded
from kith.view.items import Changed, GateVerdict, Item, Items, ModelStep, TodoList, ToolUse
from kith.view.lines import count
from kith.view.markup import NOTHING, Html, element, joined

PHASES: Final = ("waiting", "reading", "writing", "tools", "checks")
_HEIGHT, _WIDTH = 48, 8  # of a bar, in pixels
_LEAST_S, _MOST_S = 0.05, 1_000.0  # the scale is logarithmic: bars of long sessions need no other one


def has_bar(item: Item) -> bool:
    """True for a part of the time line: a step, or a check that ran."""
    return isinstance(item, ModelStep) or (isinstance(item, GateVerdict) and bool(item.judged.ran))


def bar_html(item: Item) -> Html:
    """A step's bar, which leads to it; nothing for what takes no time."""
    spent = {phase: seconds for phase, seconds in seconds_of(item).items() if seconds >= _LEAST_S / 10}
    total = sum(spent.values())
    words = f"Step {item.number}" if isinstance(item, ModelStep) else "Checks"
    told = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in spent.items())
    label = f"{words}: {total:.1f} s" + (f" ({told})" if told else "")
    picture = element(
        "svg",
        *_stacked(spent, total),
        width=_WIDTH,
        height=_HEIGHT,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        aria_hidden="true",
    )
    link = element("a", picture, href=f"#{id_of(item)}", title=label, aria_label=label)
    return element("li", link, id=f"{id_of(item)}-bar")


def seconds_of(item: Item) -> dict[str, float]:
    """Sum up a step's seconds by phase."""
    spent = dict.fromkeys(PHASES, 0.0)
    if isinstance(item, ModelStep):
        if item.called:
            spent["waiting"], spent["reading"], spent["writing"] = _phases(item.called.timing)
        spent["tools"] = sum(each.ended.seconds for each in item.tools if each.ended)
    elif isinstance(item, GateVerdict):
        spent["checks"] = sum(ran.seconds for ran in item.judged.ran)
    return spent


def _phases(timing: Timing) -> tuple[float, float, float]:
    """Seconds of waiting, reading and writing; where a server tells none, its first token parts the two."""
    waiting = timing.load_s + timing.queue_s
    if timing.prefill_s or timing.decode_s:
        return waiting, timing.prefill_s, timing.decode_s
    reading = timing.first_token_s or timing.total_s
    return waiting, max(reading - waiting, 0.0), max(timing.total_s - reading, 0.0)


def _stacked(spent: dict[str, float], total: float) -> list[Html]:
    if not total:
        return [NOTHING]
    scale = math.log(max(total, _LEAST_S) / _LEAST_S) / math.log(_MOST_S / _LEAST_S)
    height, top, bars = max(2.0, min(scale, 1.0) * _HEIGHT), float(_HEIGHT), []
    for phase, seconds in spent.items():
        part = height * seconds / total
        top -= part
        bars.append(element("rect", class_=phase, width=_WIDTH - 1, height=f"{part:.1f}", y=f"{top:.1f}"))
    return bars


def timeline_html(bars: Html) -> Html:
    """The section `timeline`, with what its colours mean."""
    key = (joined((element("dt", class_=phase), element("dd", phase))) for phase in PHASES)
    return element(
        "section",
        element("h2", "Time"),
        element("ol", bars, id="bars"),
        element("dl", *key, class_="key"),
        id="timeline",
        class_="panel",
    )


_MOST: Final = 400_000  # characters of the events that a page begins with: what is long counts for more
_FEWEST: Final = 20  # items, however long they are


class Story:
    """The list, and its time line. `base` is where the page finds one item whole; None: it holds everything.

    What is drawn is the item as it is then, however many changes came before.
    """

    def __init__(self, items: Items, base: str | None) -> None:
        self._items, self._base = items, base
        self._keys: list[str] = []
        self._sizes: dict[str, int] = {}  # of each item's events, in characters

    def show(self, changed: Changed, size: int) -> Iterator[LazyPatch]:
        """An item has come or changed, by an event of so many characters."""
        item, key = changed.item, changed.step or changed.item.key
        if isinstance(item, TodoList):
            return  # it has a panel
        self._sizes[key] = self._sizes.get(key, 0) + size
        if changed.is_new:
            self._keys.append(key)
            yield LazyPatch("append", "log", partial(self._html, key))
            if has_bar(item):
                yield LazyPatch("append", "bars", partial(self._bar, key))
            return
        use = item.key if changed.step else ""
        yield LazyPatch("replace", id_of(item), partial(self._html, key, use))
        if isinstance(item, ToolUse) and changed.step and item.state == "ended":
            yield LazyPatch("replace", f"e{key}-bar", partial(self._bar, key))

    def copied(self, items: Items) -> "Story":
        """The same list, of items that are copied."""
        same = Story(items, self._base)
        same._keys, same._sizes = [*self._keys], {**self._sizes}
        return same

    def _html(self, key: str, use: str = "") -> Html:
        """An item, or one use of a tool in it, as it is now."""
        item = self._items.by_key[key]
        if use and isinstance(item, ModelStep):
            item = next(each for each in item.tools if each.key == use)
        whole = None if self._base is None else f"{self._base}/items/e{key}"
        return shielded(lambda: item_html(item, whole), id_of(item), "li")

    def _bar(self, key: str) -> Html:
        return shielded(lambda: bar_html(self._items.by_key[key]), f"e{key}-bar", "li")

    def item_html(self, id: str) -> Html | None:
        """All of one item, nothing left out; None when there is no such item."""
        item: Item | None = self._items.by_key.get(id[1:]) if id[:1] == "e" else None
        return item_html(item) if item else None

    def log_html(self, newest: int | None) -> Html:
        """The list `log`, with its newest items, or all."""
        return element("ol", self._slice(len(self._keys), newest)[0], id="log")

    def timeline_html(self, newest: int | None) -> Html:
        """The section `timeline`, for the same items."""
        return timeline_html(self._slice(len(self._keys), newest)[1])

    def earlier(self, before: str, count: int) -> tuple[tuple[str, Html], ...]:
        """Items before an item, by its id, for the places of `earlier` and `earlier-bars`."""
        end = next((n for n, key in enumerate(self._keys) if f"e{key}" == before), 0)
        items, bars = self._slice(end, count)
        return ("earlier", items), ("earlier-bars", bars)

    def _slice(self, end: int, most: int | None) -> tuple[Html, Html]:
        """Items up to `end` and their bars, with a door to the older ones in front."""
        begin = 0 if most is None else self._begin_of(end, most)
        shown = self._keys[begin:end]
        items = map(self._html, shown)
        bars = (self._bar(key) for key in shown if has_bar(self._items.by_key[key]))
        if not begin:
            return joined(items), joined(bars)
        return joined((self._door(begin), *items)), joined((element("li", id="earlier-bars"), *bars))

    def _begin_of(self, end: int, most: int) -> int:
        """Find where the newest items up to `end` begin: so many, or fewer where they are long."""
        begin, left = end, _MOST
        while begin > max(0, end - most) and (left > 0 or end - begin < _FEWEST):
            begin -= 1
            left -= self._sizes[self._keys[begin]]
        return begin

    def _door(self, begin: int) -> Html:
        words = f"Show {count(begin, 'earlier item')}"
        link = element("a", words, href="?all=1", data_before=f"e{self._keys[begin]}")
        return element("li", link, id="earlier")
