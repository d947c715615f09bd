"""Read findings from a model's JSON, and merge those that tell the same."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kith.core.values import Finding, Severity
from kith.models.dialects.json_text import load_json

TRIES: Final = 2  # of a model whose reply holds no JSON
QUOTED: Final = 200  # characters of such a reply
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


class Claim(Struct, frozen=True):
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
    """None for a claim without its text or quote."""
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


# Many findings, each told once: what two tools say of the same line is one finding.

RANK: Final[dict[Severity, int]] = {"error": 0, "warning": 1, "note": 2}
_APART: Final = 1  # lines between two findings that may still mean the same
_ALIKE: Final = 0.5  # of the words of both, the part that they share
_WORD: Final = re.compile(r"[a-z_]\w+", re.I)
_NAME: Final = re.compile(r"[`'\"]([A-Za-z_][\w.:]*)[`'\"]")


def merge(found: Iterable[Finding]) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings in order of their weight, and those that only repeat one of them.

    The first to say something is kept: linters before the model. It takes the other's suggestion over where
    it has none of its own for the same lines.
    """
    kept, repeated = list[Finding](), list[Finding]()
    for finding in found:
        at = next((at for at, each in enumerate(kept) if _is_same(each, finding)), None)
        if at is None:
            kept.append(finding)
            continue
        repeated.append(finding)
        if kept[at].replacement is None and _lines(kept[at]) == _lines(finding):
            kept[at] = replace(kept[at], replacement=finding.replacement)
    return tuple(sorted(kept, key=weight)), tuple(repeated)


def weight(finding: Finding) -> tuple[int, str, int]:
    """Return the sort key of a finding: severity first, then place."""
    return RANK[finding.severity], finding.path, finding.line


def _is_same(one: Finding, other: Finding) -> bool:
    if one.path != other.path or not _meet(_lines(one), _lines(other)):
        return False
    if one.rule == other.rule and one.text == other.text:
        return True
    named, others = (set(_NAME.findall(each.text)) for each in (one, other))
    if one.by == other.by and (one.rule != other.rule or (named and others and not named & others)):
        return False  # a tool that has two rules or two names for a line means two things
    mine, theirs = (set(map(str.lower, _WORD.findall(each.text))) for each in (one, other))
    alike = len(mine & theirs) / max(1, len(mine | theirs))
    if named & others:
        alike += _ALIKE / 2
    return alike >= _ALIKE


def _lines(finding: Finding) -> tuple[int, int]:
    return finding.line, max(finding.line, finding.end)


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] - _APART <= other[1] and other[0] - _APART <= one[1]
