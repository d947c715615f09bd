"""The check that throws out claims which do not hold: the quote, the place, the names, the suggestion."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kith.core.values import Finding
from kith.features.review.assertions import refute
from kith.features.review.claims import Claim
from kith.features.review.sheets import Sheet
from kith.features.review.suggestion import fit_suggestion

NEAR: Final = 3  # lines that a claim may be off
_SHORTEST: Final = 8  # characters, from which on a part of a line is evidence too
_DECORATION: Final = re.compile(r"^\s*[+-]?\s*\d+\t[+-]?|^\s*(?:\d+\s*)?\|\s")

ELSEWHERE: Final = "about a file that is not in the change"
NO_QUOTE: Final = "quotes no line"
NOT_THERE: Final = "quotes a line that is not there"
AMBIGUOUS: Final = "quotes a line that stands in several places, none of them near"
OUTSIDE: Final = "about lines that the change does not reach"


@dataclass(frozen=True, slots=True)
class ThrownOut:
    """A claim that did not hold, and why."""

    path: str
    line: int
    text: str
    reason: str


def as_thrown_out(finding: Finding, reason: str) -> ThrownOut:
    """A finding that was let go of later."""
    return ThrownOut(finding.path, finding.line, finding.text, reason)


def check_claim(claim: Claim, sheets: Mapping[str, Sheet], by: str) -> Finding | ThrownOut:
    """The claim as a finding of `by`, at the place where its quote really stands; or why it is none.

    A suggestion that does not fit is left away: it is not what the finding stands on.
    """
    sheet = _sheet_of(claim, sheets)
    if sheet is None:
        return _out(claim, ELSEWHERE)
    place = find_quote(claim.evidence, sheet.rows, claim.line)
    if isinstance(place, str):
        return _out(claim, place)
    lines = range(place.start, place.stop)
    if not sheet.shown.intersection(lines):
        return _out(claim, OUTSIDE)
    if reason := refute(claim.why, sheet, place.start, sheets.values()):
        return _out(claim, reason)
    last = place.stop - 1
    replacement = fit_suggestion(sheet, place.start, last, claim.replacement) if claim.replacement else None
    end = last if last > place.start else 0
    return Finding(sheet.path, place.start, claim.severity, "review", claim.why, by, end, replacement)


def _out(claim: Claim, reason: str) -> ThrownOut:
    return ThrownOut(claim.path, claim.line, claim.why, reason)


def _sheet_of(claim: Claim, sheets: Mapping[str, Sheet]) -> Sheet | None:
    """The file a claim names, as the diff names it or by its unique end."""
    path = claim.path.removeprefix("b/") if claim.path not in sheets else claim.path
    ends = [each for each in sheets if each == path or each.endswith(f"/{path}")] if path else []
    return sheets[ends[0]] if len(ends) == 1 or path in sheets else None


def find_quote(quote: str, rows: Sequence[str], line: int) -> range | str:
    """The lines where a quote stands: near `line`, else where it stands alone; or why it does not."""
    wanted = [_plain(_DECORATION.sub("", row)) for row in quote.strip("\n").split("\n")]
    while wanted and not wanted[-1]:
        wanted.pop()
    while wanted and not wanted[0]:
        wanted.pop(0)
    if not any(char.isalnum() for row in wanted for char in row):
        return NO_QUOTE
    plain = [_plain(row) for row in rows]
    starts = _starts(wanted, plain)
    near = min(starts, key=lambda start: abs(start - line), default=0)
    if not starts:
        return NOT_THERE
    if abs(near - line) > NEAR and len(starts) > 1:
        return AMBIGUOUS
    return range(near, near + len(wanted))


def _starts(wanted: Sequence[str], plain: Sequence[str]) -> list[int]:
    """Where the wanted lines stand one below the other; a single one may be a part of a line, too."""
    size = len(wanted)
    for signless in (False, True):
        rows = [row.removeprefix("+").lstrip() for row in wanted] if signless else list(wanted)
        found = [
            at + 1 for at, row in enumerate(plain) if row == rows[0] and list(plain[at : at + size]) == rows
        ]
        if found:
            return found
    if size == 1 and len(wanted[0]) >= _SHORTEST:
        return [at + 1 for at, row in enumerate(plain) if wanted[0] in row]
    return []


def _plain(row: str) -> str:
    """A line without what quoting changes: blanks at its ends, and how many there are between words."""
    return " ".join(row.split())
