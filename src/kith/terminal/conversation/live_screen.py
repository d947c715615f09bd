"""The terminal that a conversation needs: a screen with live regions, and a line to write in."""

from collections.abc import Callable
from typing import Protocol

from kith.settings import Settings
from kith.terminal.conversation.completion import LineContext
from kith.terminal.screen import Screen

# Text with colours (ANSI), or what makes it for so many columns.
Region = str | Callable[[int], str]


class LiveScreen(Screen, Protocol):
    """A screen on which a conversation lives: below what stays there is what changes. From any thread."""

    def live(self, name: str, region: Region | None) -> None:
        """Set the content of one of the regions."""

    def prefill(self, words: str) -> None:
        """Words in the line, for the person to go on with; not where something is written already."""

    def gap(self) -> None:
        """A blank line, unless one was just put there."""

    def signal(self, sequence: str) -> None:
        """Something for the terminal itself that shows nothing, such as what its clipboard is to hold."""

    def notify(self, words: str) -> None:
        """Tell a person who is elsewhere what they may want to come back for."""

    def redraw(self) -> None:
        """Redraw: the content of a region has changed."""

    def settle_in(self, chosen: Settings) -> None:
        """Do as the person wants it, now that it is known."""

    def know(self, make: Callable[[Callable[[], None]], LineContext]) -> None:
        """Help with what is typed, and remember it; `make` is given what to call after changes."""

    def echo(self, words: str) -> None:
        """Show what the person sent, below a gap."""

    def ready(self) -> None:
        """Nothing is worked on any more."""

    def leave(self, code: int = 0) -> None:
        """End the conversation."""
