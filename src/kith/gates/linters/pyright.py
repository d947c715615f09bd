"""pyright, for projects that configure it."""

import json
from typing import Any, Final

from kith.core.values import Finding
from kith.gates.linters.linter import Linter, as_line, as_text

SUFFIXES: Final = frozenset({".py", ".pyi"})


def make_pyright(configured: str) -> Linter:
    def command(arguments: str) -> str:
        return f"pyright --outputjson {arguments}"

    return Linter("pyright", "types", configured, command, parse, SUFFIXES, obeys=True)


def parse(output: str) -> tuple[Finding, ...]:
    """Lines count from 0 there. Source: pyright's docs/command-line.md, "JSON Output"."""
    begin, end = output.find("{"), output.rfind("}")
    try:
        data = json.loads(output[begin : end + 1])
    except (ValueError, RecursionError):
        return ()
    told = data.get("generalDiagnostics") if isinstance(data, dict) else None
    return tuple(found for each in told if (found := _finding(each))) if isinstance(told, list) else ()


def _finding(data: Any) -> Finding | None:
    if not isinstance(data, dict) or not isinstance(data.get("file"), str):
        return None
    told = data.get("severity")
    if told not in ("error", "warning"):
        return None
    rule, text = as_text(data.get("rule")) or "pyright", as_text(data.get("message"))
    begin, end = _line(data, "start"), _line(data, "end")
    return Finding(
        data["file"], begin, "error" if told == "error" else "warning", rule, text, "pyright", max(begin, end)
    )


def _line(data: dict[str, Any], side: str) -> int:
    place = data.get("range")
    place = place.get(side) if isinstance(place, dict) else None
    line = place.get("line") if isinstance(place, dict) else None
    return as_line(line + 1) if isinstance(line, int) else 1
