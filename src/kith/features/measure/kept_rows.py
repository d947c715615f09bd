"""Rows as they are kept for the next time: a session's as JSON, and gone with the session."""

import json
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, Final, get_type_hints

from kith.core.values import Timing, Usage
from kith.features.measure.folding import Folded, VerdictRow
from kith.features.measure.rows import CallRow, LegRow
from kith.memory.log import Log
from kith.memory.session_rows import SessionRow, SessionRows
from kith.settings import Settings

_NESTED: Final[dict[Any, Callable[[list[Any]], Any]]] = {
    Usage: lambda values: Usage(*values),
    Timing: lambda values: Timing(*values),
    tuple[str, ...]: tuple,
}


def open_rows(cache: Path, log: Path) -> SessionRows:
    """What is kept of a log: nothing, where rows had another shape then."""
    shape = [(kind.__name__, [f.name for f in fields(kind)]) for kind in (CallRow, LegRow, VerdictRow)]
    return SessionRows(cache, log, shape)


def forget_rows(chosen: Settings, log: Log, session: str) -> None:
    """Drop what is kept of a session."""
    with closing(open_rows(chosen.cache, log.path)) as kept:
        kept.forget(session)


def encode(folded: Folded) -> SessionRow:
    """The rows of a session, as they are kept."""
    legs = [(*astuple(leg), ids) for leg, ids in zip(folded.legs, folded.changes, strict=True)]
    return SessionRow(
        folded.session,
        folded.root,
        folded.first,
        folded.last,
        _dump(map(astuple, folded.calls)),
        _dump(legs),
        _dump(map(astuple, folded.verdicts)),
        folded.undoes,
    )


def _dump(rows: Iterable[tuple[Any, ...]]) -> str:
    return json.dumps(list(rows), separators=(",", ":"))[1:-1]


def _reader(kind: Any) -> Callable[[list[Any]], Any]:
    """What makes a row of a list: JSON knows neither tuples nor the values within a row."""
    hints = get_type_hints(kind)
    made = [
        (place, _NESTED[hints[field.name]])
        for place, field in enumerate(fields(kind))
        if hints[field.name] in _NESTED
    ]

    def read(values: list[Any]) -> Any:
        for place, make in made:
            values[place] = make(values[place])
        return kind(*values)

    return read


_read_call: Callable[[list[Any]], CallRow] = _reader(CallRow)
_read_leg: Callable[[list[Any]], LegRow] = _reader(LegRow)


def decode_calls(text: str) -> list[CallRow]:
    """The calls that `SessionRows.rows` gave."""
    return [_read_call(row) for row in json.loads(text)]


def decode_legs(text: str) -> list[tuple[LegRow, list[str]]]:
    """The legs that `SessionRows.rows` gave, each with the changes that it applied."""
    found = []
    for row in json.loads(text):
        changes = row.pop()
        found.append((_read_leg(row), changes))
    return found


def decode_verdicts(text: str) -> list[VerdictRow]:
    """The verdicts that `SessionRows.rows` gave."""
    return [VerdictRow(*row) for row in json.loads(text)]
