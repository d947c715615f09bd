"""ruff, the linter for Python: always the project's own rules, or a few that every project agrees with."""

import json
from typing import Any, Final

from kith.core.values import Finding, Severity
from kith.gates.linters.linter import Linter, as_line, as_text

SUFFIXES: Final = frozenset({".py", ".pyi"})
# ruff's defaults grow from version to version; these are the ones for plain mistakes.
_FEW: Final = "--isolated --select=E4,E7,E9,F"
# Undefined names, and code that cannot be compiled or does not do what it says.
_ERRORS: Final = ("E9", "F63", "F7", "F82")


def make_ruff(configured: str) -> Linter:
    """`configured`: the file that holds the project's rules, "" when it has none."""
    rules = "" if configured else f" {_FEW}"

    def command(arguments: str) -> str:
        # One finding a line: what is cut or mixed with warnings spoils no more than itself.
        return f"ruff check --no-cache --force-exclude --output-format=json-lines{rules} -- {arguments}"

    return Linter("ruff", "lint", configured or "Python without rules of its own", command, parse, SUFFIXES)


def parse(output: str) -> tuple[Finding, ...]:
    """Source: https://docs.astral.sh/ruff/settings/#output-format."""
    return tuple(found for line in output.splitlines() if (found := _finding(line)))


def _finding(line: str) -> Finding | None:
    try:
        data = json.loads(line) if line.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("filename"), str):
        return None
    rule = as_text(data.get("code")) or "syntax"
    begin, end = _row(data.get("location")), _row(data.get("end_location"))
    return Finding(
        data["filename"], begin, _severity(rule), rule, as_text(data.get("message")), "ruff", max(begin, end)
    )


def _row(place: Any) -> int:
    return as_line(place.get("row")) if isinstance(place, dict) else 1


def _severity(rule: str) -> Severity:
    wrong = rule in ("syntax", "invalid-syntax") or rule.startswith(_ERRORS)
    return "error" if wrong else "warning"
