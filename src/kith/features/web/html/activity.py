"""What goes on now: the replies that are being written, a status in words, how far a slow thing is."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

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
from kith.features.web.html.drafts import SLOT, Draft
from kith.features.web.html.patches import LazyPatch
from kith.memory.live import Seen
from kith.view.markup import Html, element
from kith.view.wording import status_of

_TURNS: Final = (Resumed, RunEnded, RunStarted)
_TELLING: Final = (Answered, Asked, Delta, Progress, ToolBegan, ToolEnded, *_TURNS)
_WORDS: Final[dict[type, str]] = {
    RunStarted: "beginning",
    Resumed: "beginning",
    Asked: "waiting for you",
    Answered: "going on",
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
    """Whether an event says what goes on now."""
    if isinstance(event, Stepped):
        return event.state == "began"
    return isinstance(event, _TELLING) or (isinstance(event, Proposed) and bool(event.files))


def _ends_draft(event: Event) -> bool:
    """Whether the reply that was being written is told by the log from here on, or will never be told."""
    if isinstance(event, Said):
        return event.message.role == "assistant"
    return isinstance(event, _TURNS) or (isinstance(event, Called) and event.stop == "error")
