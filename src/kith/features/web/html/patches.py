"""Changes of a page; they are drawn when somebody wants to see them."""

import sys
import traceback
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from kith.view.markup import Html, element

_PANELS: Final = frozenset(
    ("build", "meter", "now", "plan", "progress", "question", "receipt", "times", "todo")
)
_BUG: Final = "This cannot be shown (a bug in kith)."


class Patch(Struct, frozen=True):
    """One change of the page, carried out by the script in the order they come.

    `append` puts `html` at the end of the element called `target`, `replace` puts it in the element's place,
    `remove` takes the element away. `text` puts `html`, which is plain text then, at the end of the element's
    own text: pieces of a reply as they arrive.
    """

    op: Literal["append", "replace", "remove", "text"]
    target: str  # an element's id
    html: str = ""


def shielded(make: Callable[[], str], id: str = "", name: str = "div") -> Html:
    """Draw with `make`; where that fails, say so in its place, and print the traceback to the terminal."""
    try:
        return Html(make())
    except Exception:  # whatever it is: the rest of the page, and all that is to come, can be shown
        tell_bug()
        return element(name, _BUG, id=id or None, class_="bad")


def tell_bug() -> None:
    """Write the exception that is being handled to the terminal."""
    _tell(traceback.format_exc())


@lru_cache(maxsize=256)  # each once, however often a page is drawn
def _tell(trace: str) -> None:
    print(trace, file=sys.stderr, flush=True)


class LazyPatch(NamedTuple):
    """A patch whose HTML is not made yet."""

    op: Literal["append", "replace", "remove", "text"]
    target: str
    make: Callable[[], str] = str

    def draw(self) -> Patch:
        id = self.target if self.op == "replace" else ""
        return Patch(self.op, self.target, shielded(self.make, id, "li" if self._is_item else "div"))

    @property
    def can_wait(self) -> bool:
        """True for what is put in place whole: a panel, or an item of the log (`e` and a number)."""
        return self.op == "replace" and (self.target in _PANELS or self._is_item)

    @property
    def _is_item(self) -> bool:
        return self.target[:1] == "e"


def draw_all(changes: Iterable[LazyPatch]) -> list[Patch]:
    """Changes in fewer patches: what is replaced is drawn once, as it is in the end.

    Pieces of a reply follow one another: they are drawn as they come, those of one text together.
    """
    found: list[Patch] = []
    waiting: dict[str, LazyPatch] = {}
    for lazy in changes:
        if lazy.can_wait:
            waiting[lazy.target] = lazy
            continue
        patch = lazy.draw()
        if found and patch.op == found[-1].op == "text" and patch.target == found[-1].target:
            found[-1] = Patch("text", patch.target, found[-1].html + patch.html)
        else:
            found.append(patch)
    return found + [lazy.draw() for lazy in waiting.values() if not _is_inside(lazy.target, waiting)]


def _is_inside(target: str, others: Iterable[str]) -> bool:
    """True for an action (`e7-0`) that is drawn with its step (`e7`); a bar stands elsewhere."""
    step, dash, part = target.partition("-")
    return bool(dash) and part != "bar" and step in others
