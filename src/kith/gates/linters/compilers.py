"""Reading findings in the form that compilers made common: `path:line:column: severity: text [rule]`."""

import re
from typing import Final

from kith.core.values import Finding, Severity

_FINDING: Final = re.compile(
    r"^(?P<path>(?:[A-Za-z]:[\\/])?[^:\n]+):(?P<line>\d{1,9}):(?:\d{1,9}:)? "
    r"(?P<severity>\w[\w ]{0,20}): (?P<text>[^\n]*?)(?: \[(?P<rule>[^\]\s][^\]\n]*)\])?$",
    re.M,
)
_SEVERITIES: Final[dict[str, Severity]] = {
    "error": "error",
    "fatal error": "error",
    "warning": "warning",
    "performance": "warning",
    "portability": "warning",
    "style": "note",
    "information": "note",
    "note": "note",
}


def parse_findings(output: str, by: str) -> tuple[Finding, ...]:
    """Every line that is a finding; notes, which explain the finding before them, are passed over."""
    found = []
    for match in _FINDING.finditer(output):
        severity = _SEVERITIES.get(match["severity"])
        if severity and match["severity"] != "note":
            line = max(1, int(match["line"]))
            found.append(
                Finding(match["path"], line, severity, match["rule"] or by, match["text"].strip(), by)
            )
    return tuple(found)
