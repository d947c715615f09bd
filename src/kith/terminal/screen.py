"""The terminal that a command needs to show something and to get an answer."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from kith.terminal.rendering.look import Look
from kith.terminal.rendering.spans import Line

if TYPE_CHECKING:
    from rich.console import RenderableType

SAY: Final = "s"  # the key for words of one's own, which may as well be written at once
LEAVE: Final = "escape"
DIFFERENT: Final = "What should be different?"
# What people say to any question, and the keys that may mean it, the likeliest first.
_SAID_OFTEN: Final = {"y": "ya", "yes": "ya", "ok": "ya", "n": "n", "no": "n"}


def plain_key(said: str, keys: Sequence[str]) -> str:
    """The key that a plain yes or no stands for, where it is all that was said; "" for other words."""
    meant = _SAID_OFTEN.get(said.strip().lower(), "")
    return next((key for key in meant if key in keys), "")


class Screen(Protocol):
    """A terminal that shows things for good, and asks.

    Foreign text is made printable by whoever shows it. The questions raise CancelledError when the person
    stops, or nobody needs the answer any more.
    """

    @property
    def width(self) -> int:
        """Columns."""

    @property
    def look(self) -> Look:
        """Its signs and colours."""

    def show_lines(self, lines: Iterable[Line]) -> None:
        """The same as `show`, for lines of roles."""

    def show(self, *what: "RenderableType", style: str = "") -> None:
        """Put this below all that was shown; text is taken as it is, without rich's markup."""

    async def press(self, words: str, keys: Sequence[str], *, follows: bool = False) -> str:
        """One key of `keys`, asked for by `words`; "n" where nobody can press one any more. `LEAVE` is Esc.

        `follows`: the key before opened this question, so the next one may have been pressed already;
        otherwise what was pressed before the question could be seen is no answer.
        """

    async def type_line(self, words: str, draft: str = "") -> str:
        """A line of words, begun with `draft`; "" where the person does not want to."""

    async def pick(self, words: str, rows: Sequence[str], chosen: int = 0) -> int | None:
        """The number of one of these rows, None where the person wants none."""

    async def edit(self, content: bytes, name: str) -> bytes:
        """The content after a visit to the person's editor; as it was where that went wrong."""

    async def view(self, title: str, lines: Iterable[Line]) -> None:
        """Something long, to be scrolled through until the person has seen enough."""
