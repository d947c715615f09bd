"""What a file of tests holds, by language; elsewhere a file is one whole."""

from collections.abc import Collection
from posixpath import splitext
from typing import Final

from kith.gates.suites.cpp import drop_cpp, find_cpp, merge_cpp
from kith.gates.suites.part import Part
from kith.gates.suites.python import drop_python, find_python, merge_python

_PYTHON: Final = frozenset({".py"})
_CPP: Final = frozenset({".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"})


def can_split(path: str) -> bool:
    """Whether the tests of such a file can be told apart."""
    return splitext(path)[1].lower() in _PYTHON | _CPP


def find_parts(path: str, source: bytes) -> tuple[Part, ...]:
    """The tests of a file in their order. Raises SyntaxError for Python that cannot be parsed."""
    if splitext(path)[1].lower() in _PYTHON:
        return find_python(source)
    return find_cpp(source) if can_split(path) else ()


def drop_parts(path: str, source: bytes, names: Collection[str]) -> bytes:
    """The file without these tests; b"" when no other is left."""
    kept = [part for part in find_parts(path, source) if part.name not in names]
    if not kept:
        return b""
    if len(kept) == len(find_parts(path, source)):
        return source
    return drop_python(source, names) if splitext(path)[1].lower() in _PYTHON else drop_cpp(source, names)


def merge_tests(path: str, kept: bytes, written: bytes) -> bytes:
    """`kept`, with the tests of `written` that it lacks and what they need. Where names meet, `kept` wins."""
    if not kept.strip() or not can_split(path):
        return written
    if splitext(path)[1].lower() in _PYTHON:
        return merge_python(kept, written)
    return merge_cpp(kept, written)
