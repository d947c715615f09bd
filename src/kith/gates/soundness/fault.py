"""Describe faults of a change found before anything runs, and those that need confirmation."""

from typing import Literal

from msgspec import Struct

Kind = Literal["syntax", "import", "name"]


class Fault(Struct, frozen=True):
    """A fault at a line, from 1. `detail`: the parser's words, the module (`a.b`, `a.b:name`) or the name."""

    path: str
    line: int
    kind: Kind
    detail: str


class Suspect(Struct, frozen=True):
    """A fault that the project's own tools may refute.

    `sure`: it counts where nobody can be asked. `asks`: what the project's interpreter can import, if it is
    none: `a.b`, or `a.b:name` for a name in it.
    """

    fault: Fault
    sure: bool = True
    asks: str = ""


class Suspects(Struct, frozen=True):
    """Possible faults. `familiar`: the modules outside the project that its files imported before."""

    found: tuple[Suspect, ...] = ()
    familiar: frozenset[str] = frozenset()
