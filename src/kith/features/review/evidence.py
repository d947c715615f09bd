"""Check a model's claims against the code: the quote, the place, the names, the suggestion."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from kith.context.symbols import parse_python
from kith.core.values import Changes, Finding
from kith.edits import Hunk, Patch, make_changes
from kith.edits.rows import encode, hunk_between, split_keys
from kith.features.review.changed_files import Sheet, Sheets
from kith.features.review.findings import Claim
from kith.features.review.syntax import count_faults, count_words, is_cpp, is_python, names_at

# Suggested replacements: whether one fits and leaves the file as well formed as it was; what they
# change.

_FENCE: Final = re.compile(r"^\s*(?:`{3,}|~{3,})[\w+-]*\s*$")
_NUMBER: Final = re.compile(r"^\s*(?:[+-]\s*)?\d+\t")
_LONGEST: Final = 60  # lines


def fit_suggestion(sheet: Sheet, first: int, last: int, words: str) -> str | None:
    """The lines to put in place of `first` to `last`, as they must be written; None when they do not fit.

    They are moved to the indentation of what they replace. None also when they change nothing, or when the
    file would be less well formed with them.
    """
    rows = [
        _NUMBER.sub("", row.rstrip("\r")) for row in words.strip("\n").split("\n") if not _FENCE.match(row)
    ]
    old = sheet.rows[first - 1 : last]
    if not any(row.strip() for row in rows) or len(rows) > _LONGEST:
        return None
    rows = _indent_as(rows, old)
    if [row.rstrip() for row in rows] == [row.rstrip() for row in old]:
        return None
    after = "\n".join((*sheet.rows[: first - 1], *rows, *sheet.rows[last:])) + "\n"
    faults = count_faults(sheet.path, after)
    if faults is not None and faults > (count_faults(sheet.path, sheet.after) or 0):
        return None
    return "\n".join(rows)


def as_changes(
    findings: Sequence[Finding], sheets: Sheets, contents: Mapping[str, bytes]
) -> tuple[Changes, tuple[Finding, ...]]:
    """The suggestions of the findings as changes of `contents`, and the findings that are in them.

    Of two that meet, the first in order is taken. A file that is not what was reviewed is left as it is.
    """
    taken = list[Finding]()
    for finding in findings:
        sheet = sheets.get(finding.path)
        if finding.replacement is None or sheet is None or contents.get(finding.path) != encode(sheet.after):
            continue
        if not any(each.path == finding.path and _meet(each, finding) for each in taken):
            taken.append(finding)
    paths = sorted({each.path for each in taken})
    patches = [
        Patch(path, tuple(_hunk(each, sheets[path]) for each in taken if each.path == path)) for path in paths
    ]
    return (make_changes(patches, contents) if patches else ()), tuple(taken)


def _meet(one: Finding, other: Finding) -> bool:
    return one.line <= max(other.line, other.end) and other.line <= max(one.line, one.end)


def _hunk(finding: Finding, sheet: Sheet) -> Hunk:
    old = sheet.rows[finding.line - 1 : max(finding.line, finding.end)]
    return hunk_between(old, split_keys(finding.replacement or ""), finding.line)


def _indent_as(rows: Sequence[str], old: Sequence[str]) -> list[str]:
    """The rows, shifted so that the first begins in the column of the first old one."""
    have, want = _indent(rows), _indent(old)
    if have == want:
        return list(rows)
    return [want + row.removeprefix(have) if row.strip() else "" for row in rows]


def _indent(rows: Sequence[str]) -> str:
    first = next((row for row in rows if row.strip()), "")
    return first[: len(first) - len(first.lstrip())]


# Claims that a syntax tree can refute: undefined, unused, not imported, not even valid syntax.

_NAME: Final = r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)*"
_QUOTED: Final = re.compile(rf"`({_NAME})(?:\(\))?`|'({_NAME})(?:\(\))?'|\"({_NAME})(?:\(\))?\"")
_UNDEFINED: Final = re.compile(
    r"\b(?:undefined|undeclared|(?:not|never|isn't|n't been) (?:been )?(?:defined|declared|imported)"
    r"|missing import|import (?:is )?missing|without importing|NameError)\b",
    re.I,
)
_UNUSED: Final = re.compile(r"\bunused\b|\b(?:not|never|isn't) (?:used|read|referenced)\b", re.I)
_BAD_SYNTAX: Final = re.compile(
    r"\b(?:syntax|indentation) ?error\b|\binvalid syntax\b|\bunterminated\b|\bunclosed\b"
    r"|\bmissing (?:a |the )?(?:closing |opening )?(?:parenthes[ie]s|bracket|brace|colon|semicolon|quote)",
    re.I,
)
# Where no name stands in quotes: the word that such a claim is about.
_BARE: Final = re.compile(
    rf"\b(?:variable|name|function|import|module|argument|parameter)s? ({_NAME})\b|^({_NAME}) (?:is|was)\b"
)
_DEFINED_HERE: Final = "says that {} is not defined, which it is"
_USED_HERE: Final = "says that {} is not used, which it is"
_PARSES: Final = "says that the syntax is wrong, which parses"
_NOWHERE: Final = "speaks of {}, which is nowhere in the change"


def refute(why: str, sheet: Sheet, line: int, all_sheets: Iterable[Sheet]) -> str:
    """Explain why a claim about a line of the new side is false, "" where the syntax does not tell."""
    names = [next(filter(None, match.groups())) for match in _QUOTED.finditer(why)]
    if names and not any(_stands_in(name, sheet, all_sheets) for name in names):
        return _NOWHERE.format(names[0])
    if _BAD_SYNTAX.search(why) and _parses(sheet):
        return _PARSES
    names = names or [next(filter(None, match.groups())) for match in _BARE.finditer(why)][:1]
    if is_python(sheet.path):
        return _refute_python(why, names, sheet, line)
    return _refute_cpp(why, names, sheet) if is_cpp(sheet.path) else ""


def _stands_in(name: str, sheet: Sheet, all_sheets: Iterable[Sheet]) -> bool:
    """True if the last part of a name is a word of any changed file, on either side."""
    word = re.compile(rf"\b{re.escape(re.split(r'[.:>-]+', name)[-1])}\b")
    return any(word.search(text) for each in (sheet, *all_sheets) for text in (each.after, each.before or ""))


def _parses(sheet: Sheet) -> bool:
    """True if the new side has no more syntax errors than the old one."""
    faults = count_faults(sheet.path, sheet.after)
    if faults is None:
        return False
    return faults <= ((count_faults(sheet.path, sheet.before) or 0) if sheet.before else 0)


def _refute_python(why: str, names: list[str], sheet: Sheet, line: int) -> str:
    tree = parse_python(sheet.after)
    if tree is None or not names:
        return ""
    here, name = names_at(tree, line), names[0]
    # What an attribute holds, nobody can tell from here.
    if _UNDEFINED.search(why) and "." not in name and name in here.bound:
        return _DEFINED_HERE.format(name)
    if _UNUSED.search(why) and {name.rpartition(".")[2], "*"} & here.used:
        return _USED_HERE.format(name)
    return ""


def _refute_cpp(why: str, names: list[str], sheet: Sheet) -> str:
    """Headers may declare anything, so only a name that is declared in the file itself counts as defined."""
    if not names:
        return ""
    name = re.split(r"\.|::|->", names[0])[-1]
    if _UNUSED.search(why) and count_words(sheet.after, name) > 1:
        return _USED_HERE.format(name)
    return ""


NEAR: Final = 3  # lines that a claim may be off
_SHORTEST: Final = 8  # characters, from which on a part of a line is evidence too
_DECORATION: Final = re.compile(r"^\s*(?:[+-]\s*)?\d+\t[+-]?|^\s*(?:\d+\s*)?\|\s")

ELSEWHERE: Final = "about a file that is not in the change"
NO_QUOTE: Final = "quotes no line"
NOT_THERE: Final = "quotes a line that is not there"
AMBIGUOUS: Final = "quotes a line that occurs in several places, none of them near"
OUTSIDE: Final = "about lines that the change does not reach"


class ThrownOut(Struct, frozen=True):
    """A claim that did not hold, and why."""

    path: str
    line: int
    text: str
    reason: str


def as_thrown_out(finding: Finding, reason: str) -> ThrownOut:
    """A finding that was let go of later."""
    return ThrownOut(finding.path, finding.line, finding.text, reason)


def check_claim(claim: Claim, sheets: Mapping[str, Sheet], by: str) -> Finding | ThrownOut:
    """The claim as a finding of `by`, at the real place of its quote; or why it is none.

    A suggestion that does not fit is dropped: the finding does not depend on it.
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
    """The lines of a quote: near `line`, else where it is unique; or why there are none."""
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
    """Find the places where the wanted lines follow each other; a single one may be part of a line."""
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
