"""Paths as a model writes them: made plain, held to the tree, and matched with the files there are."""

import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from kith.core.errors import TreeError
from kith.core.run import Run
from kith.core.values import CallTarget

MOST_GLOBS = 100  # that the `{a,b}` of one glob may multiply into


def clean_path(path: str) -> str:
    """A path without `./`, doubled slashes and a slash at the end; the tree's own folder is "."."""
    return posixpath.normpath(path) if path else "."


def path_of(args: Mapping[str, Any]) -> CallTarget:
    """The target of a tool with one path: what the policy sees is what the tool uses."""
    return CallTarget(clean_path(args.get("path", ".")))


def paths_of(args: Mapping[str, Any]) -> list[str]:
    """The same for a tool with several."""
    return [clean_path(str(path)) for path in args.get("paths", ())]


def inner_path(run: Run, path: str) -> str:
    """The path as the tree knows it. Raises TreeError, with the right spelling, for any other.

    An absolute path is refused even inside the tree: the policy has judged the path as it was sent.
    """
    path = clean_path(path)
    root = run.workspace.root.as_posix()
    if path == root or path.startswith(f"{root}/"):
        raise TreeError(f"Paths are relative to the project's folder: send {posixpath.relpath(path, root)!r}")
    if path == ".." or path.startswith(("/", "../")):
        raise TreeError(f"{path!r} is outside the project's folder")
    if "\0" in path:
        raise TreeError(f"{path!r} has a NUL character in its name")
    return path


def visible(path: str) -> str:
    """A path on one line: control characters and bytes that are not UTF-8 appear as JSON escapes."""
    return path if path.isprintable() else json.dumps(path)[1:-1]


def similar(path: str, files: Sequence[str]) -> str:
    """A sentence, after a space, with up to three files that may have been meant; or ""."""
    from rapidfuzz import fuzz, process

    name = posixpath.basename(path)
    found = [file for file in files if posixpath.basename(file) == name][:3]
    if not found:
        near = process.extract(path, files, scorer=fuzz.ratio, limit=3, score_cutoff=75)
        found = [file for file, _, _ in near]
    return f" Similar: {', '.join(map(visible, found))}." if found else ""


# --- choosing files --------------------------------------------------------------------------


def choose(files: Sequence[str], path: str) -> list[str]:
    """The files that `path` means: a file, those in a folder, or those that match a glob."""
    return [path] if path in files else inside(files, path) or _matching(files, path)


def inside(files: Sequence[str], folder: str) -> list[str]:
    """The files in a folder ("." is the whole tree), however deep."""
    return list(files) if folder == "." else [file for file in files if file.startswith(f"{folder}/")]


def is_place(path: str, chosen: Sequence[str]) -> bool:
    """True when `path` names a file or folder, although it may look like a glob (`pages/[id].js`)."""
    return path in (".", chosen[0]) or chosen[0].startswith(f"{path}/")


def globs(path: str) -> list[str]:
    """A glob with its `{a,b}` written out; [] when `path` is no glob."""
    return list(islice(_expand(path), MOST_GLOBS)) if any(mark in path for mark in "*?[{") else []


def _expand(glob: str) -> Iterator[str]:
    head, _, rest = glob.partition("{")
    options, end, tail = rest.partition("}")
    if not end:
        yield glob
        return
    for option in options.split(","):
        yield from _expand(head + option + tail)


def _matching(files: Sequence[str], path: str) -> list[str]:
    from pathspec import GitIgnoreSpec

    try:
        return list(GitIgnoreSpec.from_lines(globs(path)).match_files(files))
    except ValueError:  # a pattern that git would not take either
        return []
