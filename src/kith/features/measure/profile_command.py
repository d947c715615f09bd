"""`kith profile`: what was measured so far, with how sure that is; as text, JSON, CSV or a page."""

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Final, Literal

from kith.agent.project import Project
from kith.core.errors import EXIT_DONE, UsageError
from kith.core.values import Timing, Usage
from kith.features.measure.measured_rows import VerdictRow
from kith.features.measure.profile import Profile, ProfileScope, describe_profile, read_profile
from kith.features.measure.profile_text import choose_glyphs, profile_lines
from kith.features.measure.rows import CallRow, LegRow
from kith.terminal.options import find_root
from kith.view.printing import printable

# Measured rows as flat tables with columns that stay: for CSV, JSON, and programs that read them.

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


_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet takes a text for something to run


def profile_command(args: argparse.Namespace) -> int:
    """Speed, success, trends, money and errors of every model; what the builds teach."""
    project = Project.open(find_root(args.folder), {})
    profile = read_profile(
        project, ProfileScope(args.all, args.model or "", args.kind or "", args.since or 0.0)
    )
    if args.json:
        shown: Any = tabulate(profile, args.rows) if args.rows else describe_profile(profile)
        print(json.dumps(shown, indent=2))
    elif args.csv:
        _write_csv(profile, args.rows or "calls", args.csv)
    elif args.html:
        from kith.features.measure.page.profile import profile_page

        _write(args.html, profile_page(profile))
    elif not profile.calls and not any(each.lines for each in profile.added):
        place = "anywhere" if args.all else f"in {printable(str(project.root))}"
        print(f"Nothing was measured {place} yet; every task that a model does is.", file=sys.stderr)
    else:
        print("\n".join(profile_lines(profile, choose_glyphs(sys.stdout), detailed=bool(args.model))))
    return EXIT_DONE


def _write_csv(profile: Profile, sort: Any, target: str) -> None:
    """The rows with a header; lists within a cell are JSON."""
    import csv
    import io

    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns_of(sort))
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in tabulate(profile, sort))
    _write(target, text.getvalue())


def _cell(value: Any) -> Any:
    """A value as CSV holds it; a foreign text never begins like a formula."""
    if isinstance(value, (list, dict)):
        return json.dumps(value) if value else ""
    if isinstance(value, bool):
        return int(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _write(target: str, text: str) -> None:
    """To a file, or to stdout for `-`. Raises UsageError where the file cannot be written."""
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        Path(target).write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}.") from error
    print(f"Written to {printable(target)}.", file=sys.stderr)
