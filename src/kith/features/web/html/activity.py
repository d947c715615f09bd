"""What goes on now: the replies that are being written, a status in words, how far a slow thing is."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from kith.core.events import Delta, Progress
from kith.features.web.html.drafts import SLOT, Draft
from kith.features.web.html.entries import read_event
from kith.features.web.html.lazy_patches import LazyPatch
from kith.memory.live import Seen
from kith.view.lines import status_of
from kith.view.markup import Html, element

Body = Mapping[str, Any]
_TURNS: Final = ("Resumed", "RunEnded", "RunStarted")
_TELLING: Final = frozenset(("Answered", "Asked", "Delta", "Progress", "ToolBegan", "ToolEnded", *_TURNS))
_WORDS: Final = {
    "RunStarted": "beginning",
    "Resumed": "beginning",
    "Asked": "waiting for you",
    "Answered": "going on",
    "RunEnded": "",
}


class Activity:
    """Three elements of the page: `live`, `now` (inside of the status) and `progress`."""

    def __init__(self) -> None:
        self._drafts: dict[tuple[str, ...], Draft] = {}
        self._last: Seen | None = None
        self._piece = ""  # the kind of the last piece, while pieces come

    def take(self, seen: Seen, body: Body) -> Iterator[LazyPatch]:
        """One more event, and what that changes."""
        if seen.kind == "Delta":
            yield from self._write(seen)
        elif _ends_draft(seen.kind, body):
            yield from self._drop(seen)
        if not _tells(seen.kind, body):
            return
        piece = str(body.get("kind", "")) if seen.kind == "Delta" else ""
        self._last, again = seen, bool(piece) and piece == self._piece
        self._piece = piece
        if not again:
            yield from (LazyPatch("replace", name, make) for name, make in self.slots()[1:])

    def _write(self, seen: Seen) -> Iterator[LazyPatch]:
        delta = read_event(seen)
        if not isinstance(delta, Delta):
            return
        draft = self._drafts.get(seen.path)
        if draft is None:
            draft = self._drafts[seen.path] = Draft(f"d{seen.position}".replace(".", "-"))
            yield LazyPatch("append", SLOT, draft.html)
        for patch in draft.take(delta):
            yield LazyPatch(patch.op, patch.target, partial(str, patch.html))

    def _drop(self, seen: Seen) -> Iterator[LazyPatch]:
        gone = list(self._drafts) if seen.kind in _TURNS else [seen.path]
        for path in gone:
            draft = self._drafts.pop(path, None)
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
        event = read_event(self._last) if self._last and self._last.kind == "Progress" else None
        if not isinstance(event, Progress) or not (event.done or event.total):
            return element("p", id="progress", hidden=True)
        of = f" of {event.total:,}" if event.total else ""
        value = min(event.done, event.total) if event.total else None
        bar = element("progress", value=value, max=event.total or None, aria_label=event.what)
        return element("p", bar, f" {event.done:,}{of}", id="progress")

    def _words(self) -> str:
        if self._last is None:
            return ""
        if self._last.kind in _WORDS:
            return _WORDS[self._last.kind]
        event = read_event(self._last)
        if isinstance(event, Progress):  # its numbers stand beside it: nobody wants them read aloud
            return "waiting for the model" if event.what == "asked" else event.what
        return status_of(event) or ""


def _tells(kind: str, body: Body) -> bool:
    """Whether an event says what goes on now."""
    if kind == "Stepped":
        return body.get("state") == "began"
    return kind in _TELLING or (kind == "Proposed" and bool(body.get("files")))


def _ends_draft(kind: str, body: Body) -> bool:
    """Whether the reply that was being written is told by the log from here on, or will never be told."""
    if kind == "Said":
        return bool(body["message"]["role"] == "assistant")
    return kind in _TURNS or (kind == "Called" and body["stop"] == "error")
