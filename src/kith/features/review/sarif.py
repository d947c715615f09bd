"""Findings in the form that code hosts and editors read: SARIF 2.1.0.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from kith import __version__
from kith.core.values import Finding
from kith.view.printing import printable

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(findings: Sequence[Finding], successful: bool) -> dict[str, Any]:
    """One run of kith, with a result for each finding; paths are relative to the project's root."""
    rules = [{"id": id} for id in dict.fromkeys(map(_rule, findings))]
    driver = {"name": "kith", "version": __version__, "rules": rules}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": successful}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(each) for each in findings],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(finding: Finding) -> str:
    return printable(f"{finding.by}/{finding.rule}")


def _result(finding: Finding) -> dict[str, Any]:
    region = {"startLine": finding.line, "endLine": max(finding.line, finding.end)}
    place = {"physicalLocation": {"artifactLocation": _file(finding), "region": region}}
    result = {
        "ruleId": _rule(finding),
        "level": finding.severity,
        "message": {"text": printable(finding.text)},
        "locations": [place],
    }
    return result | ({"fixes": [_fix(finding)]} if finding.replacement is not None else {})


def _file(finding: Finding) -> dict[str, str]:
    return {"uri": quote(finding.path, errors="surrogateescape")}


def _fix(finding: Finding) -> dict[str, Any]:
    """Whole lines: from the first column of the first to the first column of the line after the last."""
    after = max(finding.line, finding.end) + 1
    region = {"startLine": finding.line, "startColumn": 1, "endLine": after, "endColumn": 1}
    replaced = {"deletedRegion": region, "insertedContent": {"text": f"{finding.replacement}\n"}}
    return {
        "description": {"text": "What could stand there instead."},
        "artifactChanges": [{"artifactLocation": _file(finding), "replacements": [replaced]}],
    }
