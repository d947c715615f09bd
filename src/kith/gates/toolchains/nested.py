"""Projects in folders of a tree whose top is none itself, such as a backend beside a frontend."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from kith.gates.toolchain import Read, ending_with

MOST_PROJECTS: Final = 4  # with more of them, all suites would take too long for one change
_MANIFESTS: Final = frozenset(
    {
        *(
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "requirements.txt",
            "manage.py",
            "pytest.ini",
            "tox.ini",
        ),
        *("package.json", "Cargo.toml", "go.mod", "CMakeLists.txt"),
        *("Gemfile", "composer.json", "phpunit.xml", "phpunit.xml.dist"),
    }
)
_ENDINGS: Final = tuple(f"/{name}" for name in _MANIFESTS)
_DEEPEST: Final = 2  # folders, as in `apps/web`
# Folders with manifests that are no project of their own, or somebody else's.
_BESIDE: Final = re.compile(
    r"\..*|tests?|spec|e2e|fixtures?|testdata|examples?|samples?|demos?|templates?|docs?|documentation"
    r"|node_modules|vendor|third[_-]?party|external|deps|benchmarks?|tools?|scripts|ci|docker|infra"
)

_SOURCES: Final = ("src", "lib", "python")


def project_folders(files: Collection[str]) -> list[str]:
    """The outermost folders with a manifest, sorted."""
    found: set[str] = set()
    for path in ending_with(files, _ENDINGS):
        *parts, _ = path.split("/")
        if len(parts) <= _DEEPEST and not any(_BESIDE.fullmatch(part) for part in parts):
            found.add("/".join(parts))
    return sorted(each for each in found if not any(each.startswith(f"{other}/") for other in found))


def only_folder(paths: Collection[str]) -> str:
    """The folder at the top that holds all of some paths, "" for none and for one that is no project."""
    folders = {path.partition("/")[0] if "/" in path else "" for path in paths}
    folder = folders.pop() if len(folders) == 1 else ""
    return "" if _BESIDE.fullmatch(folder) or folder in _SOURCES else folder


def files_in(folder: str, files: Collection[str]) -> frozenset[str]:
    """The files of a folder, relative to it."""
    prefix = f"{folder}/"
    return frozenset(path.removeprefix(prefix) for path in files if path.startswith(prefix))


def split_by_folder(folders: Collection[str], files: Collection[str]) -> dict[str, list[str]]:
    """The files of each folder, relative to it, by its prefix; "" is the top. One pass over many files."""
    inside: dict[str, list[str]] = {folder and f"{folder}/": [] for folder in folders}
    depths = {prefix.count("/") for prefix in inside}
    for path in files:
        parts = path.split("/", max(depths, default=0))
        for depth in depths:
            prefix = "".join(f"{part}/" for part in parts[:depth])
            if len(parts) > depth and prefix in inside:
                inside[prefix].append(path.removeprefix(prefix))
    return inside


def reader_in(prefix: str, read: Read) -> Read:
    """Read files by their paths behind a prefix, a folder with its slash."""
    return lambda path: read(f"{prefix}{path}")


def outside(folders: Collection[str], paths: Collection[str]) -> Iterator[str]:
    """The paths that are in none of the folders."""
    prefixes = tuple(f"{folder}/" for folder in folders)
    return (path for path in paths if not path.startswith(prefixes))
