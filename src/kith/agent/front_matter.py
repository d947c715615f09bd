"""Texts that begin with a few `key: value` lines between two `---`: roles and templates."""

from collections.abc import Collection
from dataclasses import dataclass

from kith.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Written:
    """The keys with their values, the line of each (from 1), and the words below."""

    values: dict[str, str]
    lines: dict[str, int]
    words: str


def read_front_matter(text: str, where: str, needed: Collection[str]) -> Written:
    """Take such a text apart; comments (`#`) and empty lines among the keys are left out.

    Raises UsageError naming `where`, the line, and what is wrong with it.
    """
    lines = text.replace("\r\n", "\n").removeprefix("\ufeff").split("\n")
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0)
    if lines[0].strip() != "---" or not end:
        raise UsageError(f"{where}: it should begin with {', '.join(needed)} between two lines of ---.")
    values: dict[str, str] = {}
    places: dict[str, int] = {}
    for at, line in enumerate(lines[1:end], 2):
        if not line.strip() or line.startswith("#"):
            continue
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not key:
            raise UsageError(f"{where}, line {at}: {line.strip()!r} is no `key: value`.")
        values[key], places[key] = value, at
    missing = [key for key in needed if key not in values]
    if missing:
        raise UsageError(f"{where}: {missing[0]!r} is missing.")
    words = "\n".join(lines[end + 1 :]).strip("\n")
    if not words.strip():
        raise UsageError(f"{where}: there are no words below the second ---.")
    return Written(values, places, words + "\n")
