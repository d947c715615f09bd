"""Measured rows as flat tables with columns that stay: for CSV, JSON, and programs that read them."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any, Final, Literal

from kith.core.values import Timing, Usage
from kith.features.measure.folding import VerdictRow
from kith.features.measure.profile import Profile
from kith.features.measure.rows import CallRow, LegRow

Sort = Literal["calls", "tasks", "verdicts"]
_KINDS: Final[dict[Sort, type]] = {"calls": CallRow, "tasks": LegRow, "verdicts": VerdictRow}
# Values within a row become columns of their own.
_WITHIN: Final[dict[str, type]] = {"usage": Usage, "timing": Timing}


def columns_of(sort: Sort) -> tuple[str, ...]:
    """The names of the columns, in their order; new ones only ever come at the end of their group."""
    return tuple(
        name
        for field in fields(_KINDS[sort])
        for name in (_inner(field.name) if field.name in _WITHIN else (field.name,))
    )


def tabulate(profile: Profile, sort: Sort) -> list[dict[str, Any]]:
    """A profile's rows of one sort, flat, in the order of time."""
    rows: dict[Sort, Iterable[Any]] = {
        "calls": profile.calls,
        "tasks": profile.legs,
        "verdicts": profile.verdicts,
    }
    return [_flat(row) for row in rows[sort]]


def _inner(name: str) -> tuple[str, ...]:
    return tuple(f"{name}_{field.name}" for field in fields(_WITHIN[name]))


def _flat(row: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields(row):
        value = getattr(row, field.name)
        if is_dataclass(value):
            for inner in fields(value):
                found[f"{field.name}_{inner.name}"] = getattr(value, inner.name)
        else:
            found[field.name] = list(value) if isinstance(value, tuple) else value
    return found
