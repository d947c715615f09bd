"""What changes on a page when something happens."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Patch:
    """One change of the page, carried out by the script in the order they come.

    `append` puts `html` at the end of the element called `target`, `replace` puts it in the element's place,
    `remove` takes the element away. `text` puts `html`, which is plain text then, at the end of the element's
    own text: pieces of a reply as they arrive.
    """

    op: Literal["append", "replace", "remove", "text"]
    target: str  # an element's id
    html: str = ""
