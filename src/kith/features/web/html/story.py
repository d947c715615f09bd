"""The log of a session as a list: which event begins an item, and which one belongs to an earlier item."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from kith.core.names import place_of
from kith.features.web.html.entries import Entry, read_body
from kith.features.web.html.forks import kind_of, unfold_fork
from kith.features.web.html.items import entry_html
from kith.features.web.html.lazy_patches import LazyPatch, shielded
from kith.features.web.html.steps import action_html
from kith.features.web.html.timeline import bar_html, timeline_html
from kith.memory.live import Seen
from kith.memory.turns import FORK
from kith.view.lines import count
from kith.view.markup import Html, element, joined

Body = Mapping[str, Any]
# Kinds that are an item of their own; those of _UNTOLD are shown elsewhere, any other is a note.
_ITEMS: Final = {
    "Judged": "verdict",
    "Proposed": "change",
    "Applied": "change",
    "Planned": "plan",
    "Tasked": "plan",
}
_MOST: Final = 400_000  # characters of the events that a page begins with: what is long counts for more
_FEWEST: Final = 20  # items, however long they are
_UNTOLD: Final = frozenset(("Carded", "Resumed", "TodoSet"))


class Story:
    """The items so far. `base` is where the page finds one item whole; None: the page holds everything."""

    def __init__(self, base: str | None) -> None:
        self.entries: list[Entry] = []
        self._base = base
        self._steps = 0
        self._spoken = ""  # by a model, last
        self._open: dict[str, Entry] = {}  # items that later events may join, by what these are known by
        self._of: dict[str, Entry] = {}  # the step of each tool call

    def take(self, seen: Seen, body: Body) -> Iterator[LazyPatch]:
        """One more event, and what that changes in the list."""
        match seen.kind:
            case "Said":
                yield from self._hear(seen, body)
            case "RunStarted" | "Forked":
                yield from self._set_out(seen, body)
            case "Called":
                yield from self._begin(seen, "step", f"called:{'/'.join(seen.path)}")
            case "ToolBegan" | "ToolEnded":
                yield from self._act(seen, str(body["call_id"]))
            case "Stepped":
                yield from self._enter(seen, str(body["state"]), "/".join(seen.path))
            case "Asked":
                yield from self._begin(seen, "question", f"asked:{body['question']['id']}")
            case "Answered":
                yield from self._join(seen, f"asked:{body['question_id']}", "question")
            case "Judged" if body["ran"]:
                yield from self._show(self._add(seen, "verdict", bar=True))
            case "RunEnded":
                yield from self._begin(seen, "over" if body["text"] == self._spoken else "end")
            case "Convened" | "Claimed" | "Concluded":
                yield from self._join(seen, f"council:{body['council']}", "council")
            case kind if kind not in _UNTOLD:
                yield from self._begin(seen, _ITEMS.get(kind, "note"))

    def _set_out(self, seen: Seen, body: Body) -> Iterator[LazyPatch]:
        """A task begins, or a fork, with what it has copied."""
        if seen.kind == "Forked":
            for each in unfold_fork(seen):
                yield from self.take(each, read_body(each))
        elif kind_of(body) != FORK:  # the other session's name is no task of this one
            yield from self._begin(seen, "task", "task")

    def note(self, seen: Seen) -> Iterator[LazyPatch]:
        """An event that found no place: a line of its own."""
        yield from self._begin(seen, "note")

    # --- where an event belongs ----------------------------------------------------------------

    def _begin(self, seen: Seen, kind: str, key: str = "") -> Iterator[LazyPatch]:
        """A new item; with a key, later events can join it."""
        yield from self._show(self._add(seen, kind, key))

    def _add(self, seen: Seen, kind: str, key: str = "", *, bar: bool = False) -> Entry:
        entry = Entry(f"e{seen.position}".replace(".", "-c"), kind, [seen], bar=bar or kind == "step")
        if kind == "step":
            self._steps += 1
            entry.number = self._steps
        if key:
            self._open[key] = entry
        self.entries.append(entry)
        return entry

    def _join(self, seen: Seen, key: str, kind: str) -> Iterator[LazyPatch]:
        """An event of an item that is there; of a new one if there is none."""
        entry = self._open.get(key)
        if entry is None:
            yield from self._begin(seen, kind, key)
        else:
            entry.seen.append(seen)
            yield LazyPatch("replace", entry.id, partial(self._html, entry))

    def _enter(self, seen: Seen, state: str, path: str) -> Iterator[LazyPatch]:
        """A part of the work begins or ends."""
        if state == "began":
            yield from self._begin(seen, "part", f"part:{path}")
        else:
            yield from self._join(seen, f"part:{path}", "part")

    def _hear(self, seen: Seen, body: Body) -> Iterator[LazyPatch]:
        message, thread = body["message"], str(body["thread"])
        if place := place_of(thread):
            yield from self._join(seen, f"council:{place[0]}", "council")
        elif message["role"] == "assistant":
            self._spoken = _words(message)
            yield from self._answer(seen, message)
        elif message["role"] == "tool":
            for part in message["parts"]:
                yield from self._act(seen, str(part.get("call_id", "")))
        elif message["author"] != "person":
            yield from self._begin(seen, "letter")
        elif self._is_task(message):
            yield from self._join(seen, "task", "task")
            del self._open["task"]
        else:
            yield from self._begin(seen, "words")

    def _is_task(self, message: Body) -> bool:
        """Whether a person's message is the task itself, with what the model was given beside it."""
        task = self._open.get("task")
        return task is not None and str(read_body(task.seen[0]).get("task", "")) in _words(message)

    def _answer(self, seen: Seen, message: Body) -> Iterator[LazyPatch]:
        """A model's message joins the call that it answers."""
        step = self._open.pop(f"called:{'/'.join(seen.path)}", None)
        new = step is None
        step = step or self._add(seen, "answer" if message["author"] == "kith" else "step")
        if not new:
            step.seen.append(seen)
        calls = [part["id"] for part in message["parts"] if part["type"] == "ToolCall"]
        for number, call in enumerate(calls):
            action = Entry(f"{step.id}-{number}", "action", [seen], call=call)
            step.inside.append(action)
            self._open[f"call:{call}"], self._of[call] = action, step
        yield from self._show(step) if new else [LazyPatch("replace", step.id, partial(self._html, step))]

    def _act(self, seen: Seen, call: str) -> Iterator[LazyPatch]:
        """What a tool does and answers belongs to its call; without one it stands by itself."""
        action, step = self._open.get(f"call:{call}"), self._of.get(call)
        if action is None:
            action = self._add(seen, "action", f"call:{call}")
            action.call = call
            yield from self._show(action)
            return
        action.seen.append(seen)
        yield LazyPatch("replace", action.id, partial(action_html, action, self._whole(step or action)))
        if step and step.bar and seen.kind == "ToolEnded":
            yield LazyPatch("replace", f"{step.id}-bar", partial(bar_html, step))

    # --- how it is shown -----------------------------------------------------------------------

    def _show(self, entry: Entry) -> Iterator[LazyPatch]:
        yield LazyPatch("append", "log", partial(self._html, entry))
        if entry.bar:
            yield LazyPatch("append", "bars", partial(self._bar, entry))

    def _html(self, entry: Entry) -> Html:
        return shielded(lambda: entry_html(entry, self._whole(entry)), entry.id, "li")

    def _bar(self, entry: Entry) -> Html:
        return shielded(partial(bar_html, entry), f"{entry.id}-bar", "li")

    def _whole(self, entry: Entry) -> str | None:
        """Where all of an item is, if it is not on the page."""
        return None if self._base is None else f"{self._base}/items/{entry.id}"

    def item_html(self, id: str) -> Html | None:
        """All of one item, nothing left out; None when there is no such item."""
        return next((entry_html(entry) for entry in self.entries if entry.id == id), None)

    def log_html(self, newest: int | None) -> Html:
        """The list `log`, with its newest items, or all."""
        return element("ol", self._slice(len(self.entries), newest)[0], id="log")

    def timeline_html(self, newest: int | None) -> Html:
        """The section `timeline`, for the same items."""
        return timeline_html(self._slice(len(self.entries), newest)[1])

    def earlier(self, before: str, count: int) -> tuple[tuple[str, Html], ...]:
        """What takes the places of `earlier` and `earlier-bars`: items before an item, by its id."""
        end = next((n for n, entry in enumerate(self.entries) if entry.id == before), 0)
        items, bars = self._slice(end, count)
        return ("earlier", items), ("earlier-bars", bars)

    def _slice(self, end: int, most: int | None) -> tuple[Html, Html]:
        """Items up to `end` and their bars, with a door to the older ones in front."""
        begin = 0 if most is None else self._begin_of(end, most)
        shown = self.entries[begin:end]
        items, bars = map(self._html, shown), (self._bar(each) for each in shown if each.bar)
        if not begin:
            return joined(items), joined(bars)
        return joined((self._door(begin), *items)), joined((element("li", id="earlier-bars"), *bars))

    def _begin_of(self, end: int, most: int) -> int:
        """Where the newest items up to `end` begin: so many, or fewer where they are long."""
        begin, left = end, _MOST
        while begin > max(0, end - most) and (left > 0 or end - begin < _FEWEST):
            begin -= 1
            left -= self.entries[begin].size
        return begin

    def _door(self, begin: int) -> Html:
        words = f"Show {count(begin, 'earlier item')}"
        link = element("a", words, href="?all=1", data_before=self.entries[begin].id)
        return element("li", link, id="earlier")


def _words(message: Body) -> str:
    return "".join(part["text"] for part in message["parts"] if part["type"] == "Text")
