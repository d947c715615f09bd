"""Edits that need no model: what one takes and makes, and what features add to them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kith.core.run import Run
from kith.core.values import Changes

Make = Callable[[Mapping[str, Any], Run], Awaitable[Changes]]
# Renames an identifier (old, new) in the files that may hold it, of all that there are: their new contents,
# none where it cannot tell what the name means.
Rename = Callable[[Run, str, str, Sequence[str], Sequence[str]], Awaitable[Mapping[str, bytes]]]


@dataclass(frozen=True, slots=True)
class Edit:
    """A deterministic edit: the JSON Schema of its arguments, a title that holds them, and its change.

    That is made on the side: `run.workspace` stays as it is.
    """

    title: str
    description: str
    schema: Mapping[str, Any]
    make: Make


@dataclass(frozen=True, slots=True)
class MoreEdits:
    """What a feature adds: edits by name, and a better way to rename than word by word."""

    edits: Mapping[str, Edit] = field(default_factory=dict)
    rename: Rename | None = None
