"""Claims that a syntax tree can refute: undefined, unused, not imported, not even valid syntax."""

import re
from collections.abc import Iterable
from typing import Final

from kith.features.review.sheets import Sheet
from kith.features.review.syntax import count_faults, count_words, is_cpp, is_python, names_at, parse_python

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
    """Why a claim about a line of the new side cannot be true, "" where the syntax does not tell."""
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
    """Whether the last part of a name is a word of any changed file, on either side."""
    word = re.compile(rf"\b{re.escape(re.split(r'[.:>-]+', name)[-1])}\b")
    return any(word.search(text) for each in (sheet, *all_sheets) for text in (each.after, each.before or ""))


def _parses(sheet: Sheet) -> bool:
    """Whether the new side is at least as well formed as the old one was."""
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
