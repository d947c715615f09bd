"""Describe faults of a change found before anything runs, and those that need confirmation."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["syntax", "import", "name"]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault at a line, from 1. `detail`: the parser's words, the module (`a.b`, `a.b:name`) or the name."""

    path: str
    line: int
    kind: Kind
    detail: str


@dataclass(frozen=True, slots=True)
class Suspect:
    """A fault that the project's own tools may refute.

    `sure`: it counts where nobody can be asked. `asks`: what the project's interpreter can import, if it is
    none: `a.b`, or `a.b:name` for a name in it.
    """

    fault: Fault
    sure: bool = True
    asks: str = ""


@dataclass(frozen=True, slots=True)
class Suspects:
    """Possible faults. `familiar`: the modules outside the project that its files imported before."""

    found: tuple[Suspect, ...] = ()
    familiar: frozenset[str] = frozenset()
