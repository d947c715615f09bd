"""Changes of a page that are drawn when somebody wants to see them."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from kith.faces.html.patches import Patch


class Late(NamedTuple):
    """A patch whose HTML is not made yet."""

    op: Literal["append", "replace", "remove", "text"]
    target: str
    make: Callable[[], str] = str

    def draw(self) -> Patch:
        return Patch(self.op, self.target, self.make())
