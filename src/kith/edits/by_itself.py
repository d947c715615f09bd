"""Says of a change who would run it without being told to, or follow it."""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Final

from kith.core.values import EXECUTABLE, SYMLINK, Change
from kith.edits.by_content import runs_by_content

_LINK: Final = "it becomes a symbolic link, and whoever opens it gets the file that it leads to"
_PROGRAM: Final = "it becomes a program that can be started by its name"
_TESTS: Final = re.compile(r"(^|/)(tests?|testing|specs?|e2e|integration|functional|unit)/")
_CONFTEST: Final = "pytest runs it before any test, whichever is asked for"


def runs_by_itself(change: Change) -> str:
    """Who runs what the change makes, or follows it, without being told to: a clause; "" for ordinary files.

    What a person starts by its name (a script, a target of `make`, a test) does not run by itself. Nor does a
    file that is deleted.
    """
    if change.after is None:
        return ""
    if change.mode == SYMLINK:
        return _LINK if change.before != change.after or change.mode_before != SYMLINK else ""
    path = _fold(change.path)
    if change.before != change.after and (
        who := _by_name(path) or runs_by_content(path, change) or _by_lines(path, change)
    ):
        return who
    gained = change.mode == EXECUTABLE and (change.before is None or change.mode_before != EXECUTABLE)
    return _by_name(path) or _PROGRAM if gained else ""


def _by_name(path: str) -> str:
    if path.rpartition("/")[2] == "conftest.py":
        return "" if _TESTS.search(path) else _CONFTEST
    return next((who for pattern, who in _patterns() if pattern.search(path)), "")


def _by_lines(path: str, change: Change) -> str:
    """Who runs or loads what the lines that a change adds say."""
    for names, adds, who in _lines():
        if names.search(path):
            old, new = (
                set((text or b"").decode("latin-1").splitlines()) for text in (change.before, change.after)
            )
            if any(adds.search(line) for line in new - old):
                return who
    return ""


def _fold(path: str) -> str:
    """A path in the one form in which no file system tells it from another."""
    shown = (char for char in unicodedata.normalize("NFKC", path) if unicodedata.category(char) != "Cf")
    parts = "".join(shown).casefold().replace("\\", "/").split("/")
    return "/".join(part.partition(":")[0].rstrip(". ") or part for part in parts)


@cache
def _table() -> dict[str, list[dict[str, str]]]:
    import tomllib

    return tomllib.loads((resources.files("kith.edits") / "by_itself.toml").read_text(encoding="utf-8"))


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((_any_of(row["names"].split()), row["does"]) for row in _table()["who"])


@cache
def _lines() -> tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...]:
    return tuple(
        (_any_of(row["names"].split()), re.compile(row["adds"]), row["does"]) for row in _table()["lines"]
    )


def _any_of(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile(f"(?:^|/)(?:{'|'.join(map(_one, names))})")


def _one(name: str) -> str:
    words = re.escape(name).replace(r"\*", "[^/]*")
    return words if name.endswith("/") else words + "$"
