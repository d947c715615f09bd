"""The log of a session as a list of its items: what each change of an item changes on the page."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from kith.features.web.html.items import item_html
from kith.features.web.html.patches import LazyPatch, shielded
from kith.features.web.html.steps import id_of
from kith.features.web.html.timeline import bar_html, has_bar, timeline_html
from kith.view.items import Changed, Item, Items, ModelStep, TodoList, ToolUse
from kith.view.lines import count
from kith.view.markup import Html, element, joined

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
        """What takes the places of `earlier` and `earlier-bars`: items before an item, by its id."""
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
        """Where the newest items up to `end` begin: so many, or fewer where they are long."""
        begin, left = end, _MOST
        while begin > max(0, end - most) and (left > 0 or end - begin < _FEWEST):
            begin -= 1
            left -= self._sizes[self._keys[begin]]
        return begin

    def _door(self, begin: int) -> Html:
        words = f"Show {count(begin, 'earlier item')}"
        link = element("a", words, href="?all=1", data_before=f"e{self._keys[begin]}")
        return element("li", link, id="earlier")
