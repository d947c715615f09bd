"""Live parts of the page: replies that are being written, a status in words, how far a slow thing is.

Pieces of a reply are shown at once, and read as Markdown when a block is whole.
"""

import re
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from typing import Final

from msgspec import Struct

from kith.core.events import (
    Answered,
    Asked,
    Called,
    Delta,
    Event,
    Progress,
    Proposed,
    Resumed,
    RunEnded,
    RunStarted,
    Said,
    Stepped,
    ToolBegan,
    ToolEnded,
)
from kith.features.web.html.markdown import render_markdown
from kith.features.web.html.patches import LazyPatch, Patch
from kith.memory.live import Seen
from kith.view.markup import NOTHING, Html, element, visible
from kith.view.wording import status_of

SLOT: Final = "live"  # the element that holds all drafts
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


class Draft(Struct):
    """One reply: whole blocks of its words, the rest of them, its thoughts, and the calls it writes."""

    id: str
    done: Html = NOTHING
    tail: str = ""
    thoughts: str = ""
    calls: str = ""
    _fence: str = ""  # that is open: what follows is code
    _scanned: int = 0  # characters of the tail whose lines were looked at

    def take(self, delta: Delta) -> Iterator[Patch]:
        """One more piece, and what that changes on the page."""
        if delta.kind == "text":
            yield from self._say(delta.text)
        elif delta.kind == "thinking":
            yield from self._grow("thoughts", delta.text)
        else:
            yield from self._grow("calls", delta.text)

    def _grow(self, part: str, piece: str) -> Iterator[Patch]:
        before = getattr(self, part)
        setattr(self, part, before + piece)
        if before:
            yield Patch("text", f"{self.id}-{part}", visible(piece))
        else:  # the part itself is not on the page yet
            yield Patch("replace", self.id, self.html())

    def _say(self, piece: str) -> Iterator[Patch]:
        was, self.tail = self._fence, self.tail + piece
        end = self._scan()
        if not end and self._fence == was:
            yield Patch("text", f"{self.id}-tail", visible(piece))
            return
        blocks, self.tail = render_markdown(self.tail[:end]), self.tail[end:]
        self._scanned -= end
        self.done = Html(self.done + blocks)
        yield Patch("append", f"{self.id}-done", blocks)
        yield Patch("replace", f"{self.id}-tail", self._tail_html())

    def _scan(self) -> int:
        """Look at the lines that are whole now; returns up to where blocks are: a blank line, or a fence."""
        end = 0
        while (stop := self.tail.find("\n", self._scanned)) >= 0:
            begin, line = self._scanned, self.tail[self._scanned : stop]
            self._scanned = stop + 1
            mark = _FENCE.match(line)
            if self._fence and line.strip() and set(line.strip()) == {self._fence[0]} and mark:
                if len(mark[1]) >= len(self._fence):
                    self._fence, end = "", self._scanned
            elif mark and not self._fence:
                self._fence, end = mark[1], begin
            elif not self._fence and not line.strip():
                end = self._scanned
        return end

    def _tail_html(self) -> Html:
        kind = "code" if self._fence else "plain"
        return element("div", self.tail, id=f"{self.id}-tail", class_=f"tail {kind}")

    def html(self) -> Html:
        """All of it."""
        return element(
            "section",
            self._part("thoughts", "Thinking", open_=True),
            element("div", self.done, id=f"{self.id}-done", class_="prose"),
            self._tail_html(),
            self._part("calls", "Writing a tool call", open_=False),
            id=self.id,
            class_="draft",
        )

    def _part(self, part: str, name: str, *, open_: bool) -> Html:
        written: str = getattr(self, part)
        if not written:
            return NOTHING
        pieces = element("div", written, id=f"{self.id}-{part}", class_="plain")
        return element(
            "details",
            element("summary", name),
            pieces,
            open_=open_,
            class_="thinking",
            id=f"{self.id}-{part}-d",
        )


_TURNS: Final = (Resumed, RunEnded, RunStarted)
_TELLING: Final = (Answered, Asked, Delta, Progress, ToolBegan, ToolEnded, *_TURNS)
_WORDS: Final[dict[type, str]] = {
    RunStarted: "starting",
    Resumed: "resuming",
    Asked: "waiting for you",
    Answered: "continuing",
    RunEnded: "",
}


class Activity:
    """Three elements of the page: `live`, `now` (inside of the status) and `progress`."""

    def __init__(self) -> None:
        self._drafts: dict[tuple[str, ...], Draft] = {}
        self._last: Event | None = None
        self._piece = ""  # the kind of the last piece, while pieces come

    def take(self, event: Event, seen: Seen) -> Iterator[LazyPatch]:
        """One more event, and what that changes."""
        if isinstance(event, Delta):
            yield from self._write(event, seen)
        elif _ends_draft(event):
            yield from self._drop(seen.path, all_of_them=isinstance(event, _TURNS))
        if not _tells(event):
            return
        piece = event.kind if isinstance(event, Delta) else ""
        self._last, again = event, bool(piece) and piece == self._piece
        self._piece = piece
        if not again:
            yield from (LazyPatch("replace", name, make) for name, make in self.slots()[1:])

    def copied(self) -> "Activity":
        """An independent copy."""
        same = copy(self)
        same._drafts = {path: copy(draft) for path, draft in self._drafts.items()}
        return same

    def _write(self, delta: Delta, seen: Seen) -> Iterator[LazyPatch]:
        draft = self._drafts.get(seen.path)
        if draft is None:
            draft = self._drafts[seen.path] = Draft(f"d{seen.position}".replace(".", "-"))
            yield LazyPatch("append", SLOT, draft.html)
        for patch in draft.take(delta):
            yield LazyPatch(patch.op, patch.target, partial(str, patch.html))

    def _drop(self, path: tuple[str, ...], all_of_them: bool) -> Iterator[LazyPatch]:
        for each in list(self._drafts) if all_of_them else [path]:
            draft = self._drafts.pop(each, None)
            if draft:
                yield LazyPatch("remove", draft.id)

    def slots(self) -> tuple[tuple[str, Callable[[], Html]], ...]:
        """The three elements, by id."""
        return (SLOT, self.live_html), ("now", self.now_html), ("progress", self.progress_html)

    def live_html(self) -> Html:
        return element("div", *(draft.html() for draft in self._drafts.values()), id=SLOT)

    def now_html(self) -> Html:
        return element("span", self._words(), id="now")

    def progress_html(self) -> Html:
        event = self._last
        if not isinstance(event, Progress) or not (event.done or event.total):
            return element("p", id="progress", hidden=True)
        of = f" of {event.total:,}" if event.total else ""
        value = min(event.done, event.total) if event.total else None
        bar = element("progress", value=value, max=event.total or None, aria_label=event.what)
        return element("p", bar, f" {event.done:,}{of}", id="progress")

    def _words(self) -> str:
        event = self._last
        if event is None:
            return ""
        if isinstance(event, Progress):  # its numbers stand beside it: nobody wants them read aloud
            return "waiting for the model" if event.what == "asked" else event.what
        words = _WORDS.get(type(event))
        return (status_of(event) or "") if words is None else words


def _tells(event: Event) -> bool:
    """Tell events that say what goes on now."""
    if isinstance(event, Stepped):
        return event.state == "began"
    return isinstance(event, _TELLING) or (isinstance(event, Proposed) and bool(event.files))


def _ends_draft(event: Event) -> bool:
    """Tell events after which a draft is in the log, or never will be."""
    if isinstance(event, Said):
        return event.message.role == "assistant"
    return isinstance(event, _TURNS) or (isinstance(event, Called) and event.stop == "error")
