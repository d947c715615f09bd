"""What the person sent and nobody took up yet: for the model at work, or for its turn."""

from collections import deque
from contextlib import suppress
from typing import Final

from kith.memory.inbox import Inbox
from kith.terminal.conversation.live_screen import LiveScreen
from kith.terminal.rendering.spans import Span
from kith.view.printing import printable

_SHOWN: Final = 5  # lines of it


class Pending:
    """`steering` is what the model at work has not heard yet, `queue` what comes after it.

    The person may take the last of the queue back at any moment, from another thread.
    """

    def __init__(self, screen: LiveScreen) -> None:
        self._screen = screen
        self.queue: deque[str] = deque()
        self.steering: list[str] = []

    def take_back(self) -> str:
        """What was queued last, to be written anew; "" where nothing is."""
        with suppress(IndexError):
            words = self.queue.pop()
            self.show()
            return words
        return ""

    def steer(self, words: str) -> None:
        """These are in the session's inbox, and the model hears them before it thinks again."""
        self.steering.append(words)
        self.show()

    def was_heard(self, words: str) -> bool:
        """Whether these had waited for the model that heard them now."""
        if words not in self.steering:
            return False
        self.steering.remove(words)
        self.show()
        return True

    def gather_unheard(self, inbox: Inbox) -> None:
        """What no model heard before its work was over is the next task."""
        if not self.steering:
            return
        unheard = [letter.words for letter in inbox.letters()]
        self.steering.clear()
        if unheard:
            self.queue.appendleft("\n\n".join(unheard))
        self.show()

    def show(self) -> None:
        """All of it, above the line."""
        look = self._screen.look
        arrow = look.glyphs.arrow
        lines = [f"  {arrow} {_first(words)}  (heard at the next step)" for words in tuple(self.steering)]
        lines += [f"  {arrow} {_first(words)}  (afterwards; Up takes it back)" for words in tuple(self.queue)]
        if len(lines) > _SHOWN:
            lines = [f"  {arrow} {len(lines) - _SHOWN + 1} more", *lines[1 - _SHOWN :]]
        self._screen.live("queue", look.paint((Span(line, "dim"),) for line in lines))


def _first(words: str) -> str:
    return printable(words.strip().split("\n")[0])[:60]
