"""What a diff says of a file before its hunks: names, modes, moves.

Sources: git's `Documentation/diff-generate-patch`, its `apply.c` (`-p1`, times of the epoch, contradicting
names) and `diff.mnemonicPrefix`.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kith.core.values import EXECUTABLE, FILE
from kith.edits.forms import EditError, Hunk
from kith.edits.paths import unquote

NOTHING = "/dev/null"
# One name twice, which may hold blanks; or two names, in quotes where they need them.
_LONGEST = 9_000  # characters of two paths; looking for a name that stands twice takes the square of it
_GIT_SAME = re.compile(r'^diff --git ((?:[abciow12]/)?)([^"]+) ((?:[abciow12]/)?)\2$')
_GIT_NAMES = re.compile(r'^diff --git ("(?:\\.|[^"])*"|\S+) ("(?:\\.|[^"])*"|\S+)$')
_PREFIXES = frozenset(
    "abciow12"
)  # a/ and b/, or what they are compared with: commit, index, object, work tree
_MODE = re.compile(r"^(new file|deleted file|new|old) mode (.*)$")
_MOVE = re.compile(r"^(rename|copy) (from|to) (.+)$")
_OTHER = re.compile(r"^(?:index [0-9a-f]+\.\.|(?:dis)?similarity index )")
_CHANGED = re.compile(r"^index (?!0+\.\.)[0-9a-f]+\.\.[0-9a-f]+ \d{6}$")  # with the mode of a file that stays
_TIME = re.compile(r"(?:\t.*|(?<!\s)\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*)$")
_STAMP = re.compile(r"\s(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.0+)? ([-+]\d\d):?(\d\d)\s*$")


@dataclass
class Section:
    """One file's part of a diff, while it is read."""

    old: str = ""
    new: str = ""
    mode: int | None = None
    by_git: bool = False
    there: bool = False  # git says that the file exists
    created: bool = False
    deleted: bool = False
    moved: bool = False  # or copied
    copied: bool = False
    hunks: list[Hunk] = field(default_factory=list)


def begin_section(line: str, known: Collection[str]) -> Section:
    """The part of a file that a `diff --git` line begins."""
    words = line.rstrip("\r")
    old = new = ""
    if len(words) < _LONGEST and (same := _GIT_SAME.match(words)):
        old, new = same[1] + same[2], same[3] + same[2]
    elif names := _GIT_NAMES.match(words):
        old, new = unquote(names[1]), unquote(names[2])
    return Section(*_plain(old, new, known), by_git=True)


def take_extended(section: Section, line: str) -> bool:
    """Take in one of git's lines between the names and the hunks; False when it is none."""
    words = line.rstrip("\r")
    if mode := _MODE.match(words):
        _take_mode(section, mode[1], mode[2])
    elif move := _MOVE.match(words):
        section.moved = True
        section.copied |= move[1] == "copy"
        if move[2] == "from":
            section.old = unquote(move[3])
        else:
            section.new = unquote(move[3])
    elif words.startswith(("Binary files ", "GIT binary patch")):
        raise EditError(f"The diff of {section.new} is binary; only text can be edited.")
    else:
        section.there |= bool(_CHANGED.match(words))
        return bool(_OTHER.match(words))
    return True


def _take_mode(section: Section, what: str, digits: str) -> None:
    if not re.fullmatch(r"[0-7]{5,6}", digits):
        raise EditError(f"{section.new}: {digits!r} is not a mode of a file, such as 100644.")
    mode = int(digits, 8)
    if mode & 0o170000 != FILE & 0o170000:
        raise EditError(f"{section.new} is a link or a submodule; only plain files are edited.")
    section.created |= what == "new file"
    section.deleted |= what == "deleted file"
    if what.startswith("new"):
        section.mode = EXECUTABLE if mode & 0o100 else FILE


def take_names(section: Section, minus: str, plus: str, known: Collection[str]) -> None:
    """Take in the `---` and `+++` lines. Raises EditError where they contradict git's own names."""
    old, new = _name(minus), _name(plus)
    section.created |= old == NOTHING or _is_epoch(minus)
    section.deleted |= new == NOTHING or (_is_epoch(plus) and not section.created)
    old, new = _plain(old, new, known)
    if not (section.by_git and section.old):
        section.old, section.new = old, new
        return
    said = [_bare(name) if _bare(name) in (section.old, section.new) else name for name in (old, new)]
    if stray := next((name for name in said if name not in (section.old, section.new, NOTHING)), ""):
        raise EditError(f"The header names {section.new!r} first, and then {stray!r}; which file is it?")
    if NOTHING not in said and section.old != section.new:
        section.moved |= section.old in known or section.new not in known


def _bare(name: str) -> str:
    """A name without the letter that says which side it is of."""
    first, _, rest = name.partition("/")
    return rest if first in _PREFIXES else name


def _name(line: str) -> str:
    """The name on a `---` or `+++` line, without the time that may stand behind it."""
    return unquote(_TIME.sub("", line[4:].rstrip("\r")).strip()).removeprefix("./")


def _is_epoch(line: str) -> bool:
    """Whether the time on a `---` or `+++` line says that there was no file (`diff -N` writes it)."""
    if not (stamp := _STAMP.search(line.rstrip("\r"))):
        return False
    day, time, hours, minutes = stamp.groups()
    try:
        return datetime.fromisoformat(f"{day}T{time}{hours}:{minutes}") == datetime(1970, 1, 1, tzinfo=UTC)
    except ValueError:
        return False  # there is no such time


def _plain(old: str, new: str, known: Collection[str]) -> tuple[str, str]:
    """Both names as paths in the tree: without what tells the two sides apart."""
    names = [name for name in (old, new) if name != NOTHING]
    cut = [name.partition("/")[2] for name in names]
    as_said = any(name in known for name in names) and not any(name in known for name in cut)
    if not names or not all(cut) or as_said:
        return old, new
    first = [name.partition("/")[0] for name in names]
    apart = len(names) == 2 and cut[0] == cut[1] and first[0] != first[1]
    if len(names) == 1:
        marked = first[0] == ("a" if new == NOTHING else "b")
    else:
        marked = first == ["a", "b"] or (first[0] != first[1] and _PREFIXES.issuperset(first))
    if not (marked or apart):
        return old, new
    old, new = (name if name == NOTHING else name.partition("/")[2] for name in (old, new))
    return old, new
