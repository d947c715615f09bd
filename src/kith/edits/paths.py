"""File names in replies: finding them, unquoting them, and refusing the ones that lead out of the tree."""

import re
from collections.abc import Collection
from functools import lru_cache

from kith.core.patterns import lazy_pattern
from kith.edits.edit_types import EditError

_WITHOUT_EXTENSION = {"Makefile", "Dockerfile", "LICENSE", "README", "Gemfile", "Rakefile", "Procfile"}
_CONTROL = lazy_pattern(r"[\x00-\x1f\x7f]")
_LONGEST = 500  # characters of a line that may name a file
_ATTRIBUTE = lazy_pattern(r"""<\w+ [^>]*\b(?:path|file|name)=["']([^"']+)["']""")
_DECORATION = lazy_pattern(r"^(?:#+|//|--|[-*]|\d+[.)])\s+")
_LABEL = lazy_pattern(r"^(?:new file|file ?name|file ?path|file|path|create|update|edit|modify)\s*:\s*", re.I)
_REMARK = lazy_pattern(r"\s+\((?:new|new file|updated|modified|changed)\)$", re.I)
# Characters that HFS+ ignores in file names, so that ".g\u200cit" would be ".git" there.
_IGNORABLE = lazy_pattern("[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


@lru_cache(maxsize=1024)
def check_path(path: str, exists: bool = False) -> str:
    """The path, if it can only name a file inside the tree and outside git's own folder.

    A file that `exists` may have a backslash or a control character in its name; no new one may. Raises
    EditError with one sentence. The tree checks again, with the file system at hand.
    """
    parts = re.split(r"[/\\]", path)
    if path.startswith(("/", "~")) or re.match(r"^[A-Za-z]:", path):
        raise EditError(f"{path!r} lies outside the project; name files relative to its root.")
    if any(part in ("", ".") for part in parts):
        raise EditError(f"{path!r} is not the name of a file; name files relative to the project's root.")
    if ".." in parts:
        raise EditError(f"{path!r} contains '..'; name files relative to the project's root.")
    if "\\" in path and not exists:
        raise EditError(f"{path!r} contains a backslash; use forward slashes.")
    if "\0" in path or (_CONTROL.search(path) and not exists):
        raise EditError(f"{path!r} contains a control character.")
    if any(_is_git(part) for part in parts):
        raise EditError(f"{path!r} belongs to git; that folder is never edited.")
    return path


def _is_git(part: str) -> bool:
    """True for ".git" under any of the names that some file system takes for it."""
    name = _IGNORABLE.sub("", part).split(":")[0].rstrip(". ").lower()
    return name in (".git", "git~1")


def path_in(line: str, known: Collection[str] = ()) -> str:
    """The file name that a line of prose, a heading or a tag consists of; "" when it holds none."""
    if len(line) > _LONGEST:
        return ""
    tag = _ATTRIBUTE.search(line)
    if tag:
        return tag[1]
    words = _DECORATION.sub("", line.strip())
    words = _LABEL.sub("", words.strip("*` "))
    words = _REMARK.sub("", words.strip("*`:\"' ")).strip("*`:\"' ").removeprefix("./")
    return words if words in known or looks_like_path(words) else ""


def looks_like_path(words: str) -> bool:
    """True for one word with a folder or an extension, as file names have."""
    if not words or re.search(r"[\s<>\"'|?*`(){}\[\],;=]", words) or "://" in words or words.endswith("/"):
        return False
    name = re.split(r"[/\\]", words)[-1]
    return bool(re.search(r"\w\.\w+$|^\.\w[\w.-]*$", name)) or name in _WITHOUT_EXTENSION


def unquote(name: str) -> str:
    """A file name as git prints it: in C quotes when it holds unusual bytes.

    Source: git's quote.c (`core.quotePath`).
    """
    if not (len(name) > 1 and name[0] == name[-1] == '"'):
        return name
    plain = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
    out = bytearray()
    for octal, escaped, other in re.findall(r"\\([0-3][0-7]{2})|\\(.)|([^\\])", name[1:-1]):
        if octal:
            out.append(int(octal, 8))
        elif escaped:
            out.append(plain.get(escaped, ord("?")))
        else:
            out += other.encode("utf-8", "surrogateescape")
    return out.decode("utf-8", "surrogateescape")


def quote(name: str) -> str:
    """The inverse of `unquote`: quotes only where git needs them."""
    if not re.search(r'[\x00-\x1f\x7f"\\\udc80-\udcff]', name):
        return name
    special = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}

    def escape(byte: int) -> str:
        if byte in special:
            return "\\" + special[byte]
        return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"

    return '"' + "".join(map(escape, name.encode("utf-8", "surrogateescape"))) + '"'
