"""Whole files: a line with a file name, and directly below it a fence with the entire content."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

from kith.core.patterns import lazy_pattern
from kith.edits.edit_types import Edit, EditError, Whole
from kith.edits.paths import path_in

_FENCE = lazy_pattern(r"^([ \t]*)(`{3,}|~{3,})([^`]*)$")
_SHELL = {"bash", "sh", "shell", "console", "shell-session", "zsh", "powershell", "cmd", "output", "diff"}
# Blocks with other markers than ours: as a whole file, they would take the place of everything.
_CONFLICT = tuple(lazy_pattern(each, re.M) for each in (r"^<{5,9} ?\w.*", r"^={5,9}[ \t]*$", r"^>{5,9} ?\w"))
# "# ... rest of the code unchanged": a whole file that is not whole would lose the rest.
_LEFT_OUT = lazy_pattern(
    r"^[ \t]*(?:(?:#|//|/\*|<!--|--|;|%)[ \t]*)?(?:\.\.\.|…)[ \t]*(?:\([ \t]*)?"
    r"(?:existing|rest|other|remaining|unchanged|previous|same|keep|your|the rest|code)\b",
    re.I | re.M,
)


def parse_whole(
    lines: Sequence[str], known: Collection[str] = (), about: str = "", mentions: bool = False
) -> list[Edit]:
    """Parse the files that a reply gives whole; prose with samples of code gives none.

    `mentions`: whole files were asked for. A sentence above the fence may then name one of `known` in
    backticks, and a single fence without a name is the file `about`. Raises EditError when a file is not
    closed, given twice, or leaves parts out.
    """
    edits: list[Edit] = []
    nameless: list[Edit] = []
    row = 0
    while row < len(lines):
        fence = _FENCE.match(lines[row])
        if not fence:
            row += 1
            continue
        path = _path_of(lines, row, fence[3].strip(), known)
        if not path and mentions:
            path = _mentioned(lines, row, known)
        end = _closing(lines, row, fence)
        if path:
            edits.append(_read(lines, row, end, fence[1], path))
        elif mentions and about and _language(fence[3]) not in _SHELL:
            nameless.append(_read(lines, row, end, fence[1], about))
        row = (len(lines) if end is None else end) + 1
    if not edits and len(nameless) == 1:
        return nameless
    paths = [edit.path for edit in edits]
    if twice := next((path for path, count in Counter(paths).items() if count > 1), ""):
        raise EditError(f"{twice} is given twice. Send each file once, whole.")
    return edits


def _language(info: str) -> str:
    return info.strip().split(" ")[0].lower()


def _conflict(content: str) -> str:
    """The first of three markers that follow each other, as around two versions of some lines; "" if none."""
    found: list[re.Match[str]] = []
    for mark in _CONFLICT:
        match = mark.search(content, found[-1].end() if found else 0)
        if match is None:
            return ""
        found.append(match)
    return found[0][0].strip()


def _mentioned(lines: Sequence[str], row: int, known: Collection[str]) -> str:
    """The one known file that the line above a fence names in backticks, or the path that it is, or ""."""
    above = next((line for line in reversed(lines[:row]) if line.strip()), "")
    named: set[str] = {name for name in re.findall(r"`([^`\s]+)`", above) if name in known}
    if len(named) == 1:
        return named.pop()
    # ".git/hooks/pre-commit" is no name to take, and must not pass for a fence without one either.
    word = above.strip("*`:\"' ")
    return word if re.fullmatch(r"\S*/\S*", word) and "://" not in word else ""


def _path_of(lines: Sequence[str], row: int, info: str, known: Collection[str]) -> str:
    """The name on the fence itself ("python:src/a.py") or on the line above it; "" for a sample."""
    language, _, named = info.partition(":")
    if named and (path := path_in(named, known)):
        return path
    above = [line for line in lines[max(0, row - 2) : row] if line.strip()][-1:]
    path = path_in(above[0], known) if above else ""
    if _language(language) in _SHELL and not path.endswith((".sh", ".bash", ".zsh", ".ps1")):
        return ""
    return path


def _closing(lines: Sequence[str], row: int, fence: re.Match[str]) -> int | None:
    """The row that closes a fence. One with a language inside it opens another (Markdown files do)."""
    depth = 1
    for i in range(row + 1, len(lines)):
        inner = _FENCE.match(lines[i])
        if not inner or inner[2][0] != fence[2][0] or len(inner[2]) < len(fence[2]):
            continue
        depth += 1 if inner[3].strip() else -1
        if not depth:
            return i
    return None


def _read(lines: Sequence[str], row: int, end: int | None, indent: str, path: str) -> Whole:
    if end is None:
        raise EditError(f"The fence with {path} is not closed, so the file may be cut. Send it again, whole.")
    content = "".join(line.removeprefix(indent) + "\n" for line in lines[row + 1 : end])
    if marker := _conflict(content):
        raise EditError(f"{path} holds {marker!r}: lines to replace begin with '<<<<<<< SEARCH'.")
    if gap := _LEFT_OUT.search(content):
        raise EditError(f"{path} leaves parts out ({gap[0].strip()!r}). Send all of it, or only the change.")
    return Whole(path, content)
