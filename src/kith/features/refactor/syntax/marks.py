"""Marking the places of a name that change, and making sure that its new name means nothing else there."""

from collections import defaultdict
from collections.abc import Iterable

from kith.core.errors import UsageError
from kith.features.refactor.syntax.scopes import Mention, Names, Scope, find_owner
from kith.features.refactor.syntax.source import Source, Splice

Marks = defaultdict[str, set[Splice]]


def mark(source: Source, start: int, old: str, new: str, marks: Marks) -> None:
    """`old`, which stands at `start`, becomes `new`. Raises UsageError when it does not stand there."""
    if start < 0 or source.text[start : start + len(old)] != old:
        raise UsageError(f"{source.path}: a place of {old} cannot be told, so it is not renamed.")
    marks[source.path].add(Splice(start, start + len(old), new))


def mark_mentions(names: Names, mentions: Iterable[Mention], new: str, marks: Marks) -> None:
    """Every one of these names becomes `new`. Raises UsageError for one whose place is unknown."""
    for each in mentions:
        if each.start < 0:
            line = getattr(each.node, "lineno", 0)
            raise UsageError(
                f"{names.source.path}:{line}: the place of {each.name} in this line cannot be told."
            )
        mark(names.source, each.start, each.name, new, marks)


def check_free(names: Names, scope: Scope, old: str, new: str) -> None:
    """Raises UsageError when `new`, in the place of `old`, would meet a name that is there already."""
    if new in scope.bound:
        taken = next(each for each in names.mentions if each.name == new)
        taken = next(iter(names.of(scope, new)), taken)
        raise _taken(names, taken, f"{new} is already a name there")
    for each in names.of(scope, old):
        for inner in each.scope.up():
            if inner is scope:
                break
            if new in inner.bound and (inner.kind != "class" or inner is each.scope):
                raise _taken(names, each, f"{new} means something else in this place")
    for each in names.mentions:
        if each.name == new and scope in each.scope.up():
            owner = find_owner(each.scope, new)
            hidden = owner is None or (owner is not scope and owner in scope.up())
            if hidden and (scope.kind != "class" or each.scope is scope):
                raise _taken(names, each, f"{new} is used there, and would then mean what {old} means now")


def _taken(names: Names, mention: Mention, why: str) -> UsageError:
    line = getattr(mention.node, "lineno", 0)
    return UsageError(f"{names.source.path}:{line}: {why}.")
