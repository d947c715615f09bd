"""Which paths a tree allows, and where symbolic links may lead; `files` opens what passed here."""

import os
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

from kith.core.errors import TreeError

PROTECTED = (".git", ".kith")
MAX_LINKS = 40  # what Linux follows before it says ELOOP

# Code points that a file system or a reader may drop, beyond Unicode's format characters (category Cf).
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
_SHORT_NAME = re.compile(r"(git|kith)~[0-9]+")  # what Windows calls .git and .kith in its 8.3 form
_WINDOWS_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?")


def check_path(path: str) -> str:
    """`path` in its plain form: relative, forward slashes, no `.` and no empty parts.

    Raises TreeError for whatever could leave the tree or reach `.git` and `.kith` in any spelling that
    some file system takes for them (case, trailing dots, short names, invisible and compatibility characters;
    the list follows git's `verify_path`).
    """
    shown = show_path(path)
    if not path:
        raise TreeError("an empty path names no file")
    if "\0" in path:
        raise TreeError(f"{shown} has a NUL character in its name")
    if path.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", path):
        raise TreeError(f"{shown} is not relative to the tree")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise TreeError(f"{shown} cannot be a file name") from None
    for part in re.split(r"[/\\]", path):
        _check_part(part, shown)
    if os.name == "nt":
        _check_for_windows(path, shown)
    plain = "/".join(part for part in path.split("/") if part not in ("", "."))
    if not plain or path.endswith(("/", "/.")):
        raise TreeError(f"{shown} names a folder, not a file")
    return plain


def show_path(path: str) -> str:
    """A path for people: control and invisible characters and stray bytes made visible."""
    return path if path.isprintable() and path else ascii(path)


def _check_part(part: str, shown: str) -> None:
    folded = unicodedata.normalize("NFKC", part)
    folded = "".join(char for char in folded if unicodedata.category(char) != "Cf")
    folded = unicodedata.normalize("NFKC", _IGNORABLE.sub("", folded).casefold())
    if folded == "..":
        raise TreeError(f"{shown} leaves the tree")
    # NTFS ends a name at ":" (streams) and drops dots and spaces at its end.
    folded = folded.partition(":")[0].rstrip(". ")
    if folded in PROTECTED or _SHORT_NAME.fullmatch(folded):
        raise TreeError(f"{shown} belongs to git or to kith itself and is out of bounds")


def _check_for_windows(path: str, shown: str) -> None:
    if "\\" in path or re.search(r'[:*?"<>|]', path):
        raise TreeError(f"{shown} has a character that Windows does not allow in names")
    for part in path.split("/"):
        if part != part.rstrip(". ") and part != ".":
            raise TreeError(f"{shown} ends a name with a dot or a space, which Windows drops")
        if _WINDOWS_DEVICE.fullmatch(part.casefold()):
            raise TreeError(f"{shown} is the name of a Windows device")


def resolve_links(root: Path, path: str, readlink: Callable[[str], str | None]) -> str:
    """Where `path` leads once every symbolic link on the way is followed, as a path inside the tree.

    `readlink` gives the target of a link (by its path in the tree), None for anything else. Absolute
    targets are followed when they point below `root`. Raises TreeError when a link leads out of the tree,
    into `.git` or `.kith`, or in a circle.
    """
    shown, top = show_path(path), os.path.realpath(root).rstrip(os.sep) + os.sep
    waiting, real, links = check_path(path).split("/")[::-1], list[str](), 0
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not real:
                raise TreeError(f"{shown} is a symbolic link that leads out of the tree")
            real.pop()
            continue
        target = readlink("/".join([*real, part]))
        if target is None:
            real.append(part)
            continue
        links += 1
        if links > MAX_LINKS:
            raise TreeError(f"{shown} is a symbolic link that leads in a circle")
        if Path(target).is_absolute():
            if not (target + os.sep).startswith(top):
                raise TreeError(f"{shown} is a symbolic link that leads out of the tree")
            target, real = target[len(top) :], []
        waiting.extend(target.replace(os.sep, "/").split("/")[::-1])
    if not real:
        raise TreeError(f"{shown} names a folder, not a file")
    return check_path("/".join(real))


def check_link(root: Path, path: str, target: bytes, readlink: Callable[[str], str | None]) -> None:
    """Raises TreeError unless a symbolic link at `path` to `target` would stay inside the tree.

    The target must be relative and go up only at its start: then no other link, present or created
    with it, can bend it outwards.
    """
    words, shown = os.fsdecode(target), show_path(path)
    if not words or "\0" in words or Path(words).is_absolute():
        raise TreeError(f"{shown} would be a symbolic link that is not relative to the tree")
    parts = [part for part in words.split("/") if part not in ("", ".")]
    folder = path.split("/")[:-1]
    while parts and parts[0] == "..":
        if not folder:
            raise TreeError(f"{shown} would be a symbolic link that leads out of the tree")
        parts.pop(0)
        folder.pop()
    if ".." in parts:
        raise TreeError(f"{shown} would be a symbolic link that goes up after it went down")
    if folder or parts:
        resolve_links(root, "/".join([*folder, *parts]), readlink)
