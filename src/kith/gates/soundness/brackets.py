"""The first bracket or quote of a C-like text without a partner; comments and macro definitions apart."""

import re
from collections.abc import Iterator
from typing import Final, Literal

Branch = Literal["first", "last"]

_TOKEN: Final = re.compile(
    r"""
    (?P<skip>//(?:[^\\\n]|\\.)*|/\*.*?(?:\*/|\Z)
      |(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?(?:\)(?P=mark)"|\Z)
      |"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?<![\w.])\.?\d(?:[\w.']|(?<=[eEpP])[+-])*)
    |(?P<directive>^[ \t]*\#(?:[^\\\n]|\\.)*)
    |(?P<bracket>[()\[\]{}"])
    """,
    re.X | re.S | re.M,
)
_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
_WORD: Final = re.compile(r"\s*#\s*(\w*)")


def find_unmatched(text: str, branch: Branch) -> int:
    """The line of a bracket without a partner, or of a string that its line does not end; else 0.

    Of `#if ... #else ... #endif` only the `first` or the `last` branch counts.
    """
    waiting: list[tuple[str, int]] = []
    for bracket, place in _brackets(text, branch):
        if bracket == '"':
            return _line(text, place)
        opening = _PAIRS.get(bracket)
        if opening is None:
            waiting.append((bracket, place))
        elif not waiting or waiting.pop()[0] != opening:
            return _line(text, place)
    return _line(text, waiting[-1][1]) if waiting else 0


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _brackets(text: str, branch: Branch) -> Iterator[tuple[str, int]]:
    """The brackets with their places. Of each condition the brackets are held back until it ends."""
    held: list[list[tuple[str, int]]] = []
    for token in _TOKEN.finditer(text):
        if token["bracket"]:
            if not held:
                yield token["bracket"], token.start()
            else:
                held[-1].append((token["bracket"], token.start()))
        elif token["directive"]:
            found = _WORD.match(token["directive"])
            word = found[1] if found else ""
            if word.startswith("if"):
                held.append([])
            elif word in ("else", "elif", "elifdef", "elifndef") and held:
                _begin_branch(held, branch)
            elif word == "endif" and held:
                kept = _finished(held.pop())
                if not held:
                    yield from kept
                else:
                    held[-1] += kept
    for group in held:
        yield from _finished(group)


_ELSE: Final = ("", -1)  # where the first branch of a condition ended


def _begin_branch(held: list[list[tuple[str, int]]], branch: Branch) -> None:
    if branch == "last":
        held[-1].clear()
    elif _ELSE not in held[-1]:
        held[-1].append(_ELSE)


def _finished(group: list[tuple[str, int]]) -> list[tuple[str, int]]:
    return group[: group.index(_ELSE)] if _ELSE in group else group
