"""Mutants: small faults planted in source code, by which tests show whether they would notice one."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain, zip_longest
from posixpath import splitext
from typing import Final

from kith.features.testgen.mutants.cpp import mutate_cpp
from kith.features.testgen.mutants.mutant import Lines, Mutant, apply_mutant, show_mutant
from kith.features.testgen.mutants.python import mutate_python

__all__ = ["Lines", "Mutant", "apply_mutant", "can_mutate", "find_mutants", "show_mutant", "spread_mutants"]

_PYTHON: Final = frozenset({".py"})
_CPP: Final = frozenset({".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp"})
_LONE_RETURN: Final = re.compile(rb"\r(?!\n)")


def can_mutate(path: str) -> bool:
    """Tell whether kith knows the language of a file well enough to plant faults in it."""
    return splitext(path)[1].lower() in _PYTHON | _CPP


def find_mutants(path: str, source: bytes, lines: Lines = ()) -> tuple[Mutant, ...]:
    """Every fault that kith would plant in these lines, in the order of the file.

    () where the source cannot be parsed, is not UTF-8, or is in a language that kith does not mutate.
    """
    ending = splitext(path)[1].lower()
    if not _is_utf8(source) or _LONE_RETURN.search(source):
        return ()
    found: Sequence[Mutant] = ()
    if ending in _PYTHON:
        found = mutate_python(path, source)
    elif ending in _CPP:
        found = mutate_cpp(path, source)
    wanted = [each for each in found if not lines or any(a <= each.line <= b for a, b in lines)]
    return tuple(sorted(dict.fromkeys(wanted), key=lambda each: (each.start, len(each.before), each.after)))


def spread_mutants(mutants: Sequence[Mutant], limit: int) -> tuple[Mutant, ...]:
    """At most `limit` of them, in the order in which to try them: functions and lines take turns."""
    groups: dict[tuple[str, str], list[tuple[int, int, Mutant]]] = defaultdict(list)
    on_line = Counter[tuple[str, int]]()
    for number, mutant in enumerate(mutants):
        place = (mutant.path, mutant.line)
        groups[mutant.path, mutant.within].append((on_line[place], number, mutant))
        on_line[place] += 1
    turns = zip_longest(*(sorted(group, key=lambda each: each[:2]) for group in groups.values()))
    return tuple(each[2] for each in chain.from_iterable(turns) if each)[:limit]


def _is_utf8(source: bytes) -> bool:
    try:
        source.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
