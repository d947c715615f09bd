"""Edits that need no model, by name: what one takes and makes, and what features add to them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from kith.core.run import Run
from kith.core.values import Changes

Make = Callable[[Mapping[str, Any], Run], Awaitable[Changes]]
# Renames an identifier (old, new) in the files that may hold it, of all that there are: their new contents,
# none where it cannot tell what the name means.
Rename = Callable[[Run, str, str, Sequence[str], Sequence[str]], Awaitable[Mapping[str, bytes]]]


class Edit(Struct, frozen=True):
    """A deterministic edit: the JSON Schema of its arguments, a title that holds them, and its change.

    That is made on the side: `run.workspace` stays as it is.
    """

    title: str
    description: str
    schema: Mapping[str, Any]
    make: Make


class MoreEdits(Struct, frozen=True):
    """A feature's additions: edits by name, and a better way to rename than by words."""

    edits: Mapping[str, Edit] = field(default_factory=dict)
    rename: Rename | None = None
