"""mypy, for projects that configure it: types are checked the way the project checks them."""

import json
from typing import Final

from kith.core.values import Finding
from kith.gates.linters.linter import Linter, as_line, as_text

SUFFIXES: Final = frozenset({".py", ".pyi"})


def make_mypy(configured: str, whole: bool) -> Linter:
    """`whole`: the configuration itself names what is checked, so no path is given."""

    def command(arguments: str) -> str:
        asked = "mypy -O json --no-error-summary"
        return asked if whole else f"{asked} -- {arguments}"

    return Linter("mypy", "types", configured, command, parse, SUFFIXES, whole=whole, obeys=True)


def parse(output: str) -> tuple[Finding, ...]:
    """Source: mypy's `--output=json`, one object a line; notes belong to the error before them."""
    return tuple(found for line in output.splitlines() if (found := _finding(line)))


def _finding(line: str) -> Finding | None:
    try:
        data = json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("file"), str) or data.get("severity") == "note":
        return None
    rule = as_text(data.get("code")) or "mypy"
    return Finding(
        data["file"], as_line(data.get("line")), "error", rule, as_text(data.get("message")), "mypy"
    )
