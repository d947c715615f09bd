"""What another feature adds to a profile, as `Feature.extends["measure"]`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kith.agent.project import Project
from kith.core.feature import Lazy
from kith.view.markup import Html


@dataclass(frozen=True, slots=True)
class Scope:
    """Of what a profile is wanted: all folders, a model (or a part of its name), a kind of work, a time."""

    everywhere: bool = False
    model: str = ""
    kind: str = ""
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class Addition:
    """What one part has to say: keys for the profile as data, lines under a title, and a section of the page.

    `page` is the section's title and what draws it, from `found`.
    """

    data: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""
    lines: Sequence[str] = ()
    page: tuple[str, Lazy[Callable[[Any], Html]]] | None = None
    found: Any = None


@dataclass(frozen=True, slots=True)
class ProfilePart:
    """Reads what a part has to say of a project, within a scope."""

    read: Callable[[Project, Scope], Addition]
