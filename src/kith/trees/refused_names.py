"""Refuse names that mean another file on some systems, and files of git or kith."""

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Final

from kith.core.errors import TreeError
from kith.core.values import Changes
from kith.trees.files import ABSENT, folders_above, open_folder, show_path, told

_LONGEST: Final = 255  # bytes of one name, on nearly every file system
# Unicode's control, format, surrogate and separator characters.
_HIDDEN: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
_MEANINGS: Final = (
    (re.compile(r"^~"), "begins with ~, which shells take for a home folder"),
    (
        re.compile(r"^\$(\{|\(|HOME\b|PWD\b|OLDPWD\b|TMPDIR\b)|^%\w+%"),
        "begins with a variable of the shell's",
    ),
    (re.compile(r"(^|/)-"), "begins with a dash, which commands take for an option"),
    (re.compile(r"\$\(|`"), "holds what shells take for a command"),
    (re.compile(r"%(25)*(2e|2f|5c|00)", re.I), "holds an encoded dot or slash"),
    (re.compile(r"^[a-z][a-z0-9+.-]*:/", re.I), "is an address, not a file"),
    (re.compile(r"\\"), "holds a backslash; use forward slashes"),
)


def check_new_name(path: str) -> None:
    """Raises TreeError for a (checked) name that shells, servers or commands take for something else."""
    shown = show_path(path)
    if why := next((why for pattern, why in _MEANINGS if pattern.search(path)), ""):
        raise TreeError(f"{shown} {why}")
    if any(unicodedata.category(char) in _HIDDEN for char in path):
        raise TreeError(f"{shown} has characters that cannot be seen; give the file a plain name")
    if any(len(os.fsencode(part)) > _LONGEST for part in path.split("/")):
        raise TreeError(f"{show_path(path[:60])}... is too long for a name")


def check_twins(root: Path, changes: Changes, is_there: Callable[[str], bool]) -> None:
    """Raises TreeError for a new file whose name some file systems do not tell from another name.

    The other name is new as well, or one of the tree that is not deleted in the same change.
    """
    gone = {change.path for change in changes if change.after is None}
    names_in, new = cache(partial(_names_in, root)), dict[str, str]()
    for path in [change.path for change in changes if change.before is None and change.after is not None]:
        twin = _find_twin(path, names_in)
        if twin and is_there(twin) and not _is_leaving(root, twin, gone):
            raise TreeError(f"{show_path(path)}: there is {show_path(twin)} already, {_SAME}")
        for each in (path, *folders_above(path)):
            if (other := new.setdefault(_fold(each), each)) != each:
                raise TreeError(f"{show_path(each)}: {show_path(other)} would be new as well, {_SAME}")


_SAME: Final = "the same name to some systems"


def _find_twin(path: str, names_in: Callable[[str], Mapping[str, Sequence[str]]]) -> str:
    """Find an existing name that some file systems do not tell from `path`; "" for none."""
    parts = path.split("/")
    for depth, part in enumerate(parts):
        above = "/".join(parts[:depth])
        alike = names_in(above).get(_fold(part), ())
        if part not in alike:
            return "/".join([*parts[:depth], alike[0]]) if alike else ""
    return ""


def _names_in(root: Path, path: str) -> Mapping[str, Sequence[str]]:
    """The names in a folder, by what they are to file systems that fold them; none if it is not there."""
    found = defaultdict[str, list[str]](list)
    with told(path), suppress(*ABSENT), open_folder(root, path) as folder:
        for name in os.listdir(folder.location if folder.fd is None else folder.fd):  # noqa: PTH208
            found[_fold(name)].append(name)
    return dict(found)


def _is_leaving(root: Path, path: str, gone: Set[str]) -> bool:
    """True if the file at a path, or every file in the folder there, is among those deleted."""
    inside = {
        Path(folder, name).relative_to(root).as_posix()
        for folder, _, names in os.walk(root / path)
        for name in names
    }
    return path in gone or bool(inside and inside <= gone)


def _fold(name: str) -> str:
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


# --- what belongs to git under another name ------------------------------------------------------


def check_repositories(root: Path, changes: Changes) -> None:
    """Raise TreeError for a change inside a repository's folder, or one that makes such a folder.

    git takes any folder for a repository that has `HEAD`, `objects` and `refs` (or `commondir`), whatever its
    name. It then runs what its configuration and hooks say. Source: git's `is_git_directory`.
    """
    made = [change.path for change in changes if change.after is not None]
    for folder in sorted({folder for change in changes for folder in ("", *folders_above(change.path))}):
        if is_git_folder(folder, lambda path: _is_there(root, path, made)):
            raise TreeError(f"{show_path(folder or '.')} is a repository of git's own, and out of bounds")


def holds_repository(folder: str, is_there: Callable[[str], bool]) -> bool:
    """True if a folder of the tree is a repository of its own, with or without a working tree."""
    return is_there(f"{folder}/.git") or is_git_folder(folder, is_there)


def is_git_folder(folder: str, is_there: Callable[[str], bool]) -> bool:
    """True if git would take a folder of the tree for a repository without a working tree."""
    inside = f"{folder}/" if folder else ""
    if not is_there(f"{inside}HEAD"):
        return False
    return is_there(f"{inside}commondir") or (is_there(f"{inside}objects") and is_there(f"{inside}refs"))


def _is_there(root: Path, path: str, made: Iterable[str]) -> bool:
    return os.path.lexists(root / path) or any(f"{name}/".startswith(f"{path}/") for name in made)


def check_own(root: Path, own: Iterable[Path], changes: Changes) -> None:
    """Raises TreeError for a change in the folders that are kith's `own`, wherever they lie in the tree."""
    top = root.resolve()
    for folder in own:
        with suppress(ValueError):
            inside = folder.resolve().relative_to(top).as_posix()
            for change in changes:
                if inside == "." or f"{change.path}/".casefold().startswith(f"{inside}/".casefold()):
                    raise TreeError(f"{show_path(change.path)} belongs to kith itself and is out of bounds")
