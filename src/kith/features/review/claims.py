"""What a model says of a change: findings as JSON, read as forgivingly as can be done without guessing."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from kith.core.values import Severity

MOST: Final = 8  # findings of one reply; who reports more is not choosing
SHAPE: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "findings": {
            "type": "array",
            "maxItems": MOST,
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "line": {"type": "integer"},
                    "severity": {"type": "string", "enum": ["error", "warning", "note"]},
                    "evidence": {"type": "string"},
                    "why": {"type": "string"},
                    "replacement": {"type": "string"},
                },
                "required": ["path", "line", "severity", "evidence", "why"],
            },
        }
    },
    "required": ["findings"],
}
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "path": ("path", "file", "filename"),
    "line": ("line", "line_number", "lineno", "start_line"),
    "severity": ("severity", "level", "priority"),
    "evidence": ("evidence", "quote", "code", "snippet"),
    "why": ("why", "message", "comment", "text", "description", "problem"),
    "replacement": ("replacement", "suggestion", "fix", "suggested_replacement"),
}
_SEVERITIES: Final[Mapping[str, Severity]] = {
    **dict.fromkeys(("error", "critical", "high", "major", "blocker", "bug"), "error"),
    **dict.fromkeys(("note", "low", "info", "minor", "nit", "suggestion", "style"), "note"),
}


@dataclass(frozen=True, slots=True)
class Claim:
    """A finding as a model says it, before anybody looked: where, how bad, why, and the line it quotes."""

    path: str
    line: int
    severity: Severity
    why: str
    evidence: str
    replacement: str | None = None


def read_claims(words: str) -> tuple[tuple[Claim, ...], str]:
    """The claims in a reply, or what is wrong with it in words for the model."""
    data = load_json(words)
    if isinstance(data, Mapping):
        data = data.get("findings", [data] if "why" in data else None)
    if not isinstance(data, list):
        return (), 'Your reply holds no JSON object with a list of "findings".'
    claims = [_claim(each) for each in data[:MOST] if isinstance(each, Mapping)]
    if data and not any(claims):
        return (), 'Each finding needs "path", "line", "evidence" and "why".'
    return tuple(filter(None, claims)), ""


def _claim(data: Mapping[str, Any]) -> Claim | None:
    """None for a claim without the words or the quote that it stands on."""
    found = {key: next((data[name] for name in names if name in data), None) for key, names in _KEYS.items()}
    evidence, why = found["evidence"], found["why"]
    if isinstance(evidence, list):
        evidence = "\n".join(map(str, evidence))
    if not isinstance(evidence, str) or not isinstance(why, str) or not why.strip():
        return None
    number = re.search(r"\d{1,9}", str(found["line"]))
    severity = _SEVERITIES.get(str(found["severity"]).strip().lower(), "warning")
    replacement = found["replacement"] if isinstance(found["replacement"], str) else ""
    path = str(found["path"] or "").strip().removeprefix("./")
    return Claim(
        path,
        int(number[0]) if number else 0,
        severity,
        " ".join(why.split()),
        evidence,
        replacement if replacement.strip() else None,
    )


def load_json(words: str) -> Any:
    """The JSON value in a reply, whatever stands around it."""
    for text in _candidates(words):
        try:
            return json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
    start = min((at for sign in "{[" if (at := words.find(sign)) >= 0), default=-1)
    if start < 0:
        return None
    import json_repair

    return json_repair.loads(words[start:])


def _candidates(words: str) -> Iterator[str]:
    yield words
    for left, right in ("{}", "[]"):
        start, end = words.find(left), words.rfind(right)
        if 0 <= start < end:
            yield words[start : end + 1]
