"""Replies as they are being written: pieces are shown at once, and read as Markdown when a block is whole."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kith.core.events import Delta
from kith.features.web.html.markdown import render_markdown
from kith.features.web.html.patches import Patch
from kith.view.markup import NOTHING, Html, element, visible

SLOT: Final = "live"  # the element that holds all drafts
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(slots=True)
class Draft:
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
