"""Choose the linters of a project: by its own configuration, and by the languages it is written in."""

import configparser
import json
import tomllib
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from msgspec.structs import replace

from kith.features.linters.known_linters import (
    CLANG_TIDY_SUFFIXES,
    CPPCHECK_SUFFIXES,
    RUFF_SUFFIXES,
    SHELLCHECK_SUFFIXES,
    make_clang_tidy,
    make_cppcheck,
    make_mypy,
    make_pyright,
    make_ruff,
    make_shellcheck,
)
from kith.features.linters.package_linters import (
    CLIPPY_SUFFIXES,
    ESLINT_CONFIGS,
    ESLINT_SUFFIXES,
    VET_SUFFIXES,
    make_clippy,
    make_eslint,
    make_go_vet,
)
from kith.gates.linters import Linter, LinterFinder
from kith.gates.toolchain import Read

_CLUES: Final = frozenset({".mypy.ini", "mypy.ini", "package.json", "pyproject.toml", "setup.cfg"})
_RUFF: Final = "ruff.toml"
_VENV: Final = "pyvenv.cfg"
_END: Final = "\0"  # no path holds it
_READ_AT_MOST: Final = 8  # manifests of projects inside the project
# The keys of mypy's configuration that name what is checked.
_NAMES_FILES: Final = ("files", "packages", "modules")


def find_linters(files: Collection[str], read: Read) -> tuple[Linter, ...]:
    """The linters of a tree: for each language one that needs no asking, and what the project configures.

    `files` are paths relative to the root, `read` gives a file's bytes or None. Nobody looks here whether a
    tool is installed; that shows when it is run.
    """
    names, suffixes, text = _overview(tuple(files))
    found = [] if suffixes.isdisjoint(RUFF_SUFFIXES) else [*_python(names, text, read)]
    if not suffixes.isdisjoint(CPPCHECK_SUFFIXES):
        found.append(make_cppcheck())
    if not suffixes.isdisjoint(SHELLCHECK_SUFFIXES):
        found.append(make_shellcheck())
    found += _of_packages(names, suffixes, read)
    if _VENV in names or f"/{_VENV}{_END}" in text:
        # A virtual environment that is part of the repository: its programs are the project's own.
        found = [replace(each, obeys=True) for each in found]
    return tuple(found)


def _of_packages(files: Collection[str], suffixes: frozenset[str], read: Read) -> Iterator[Linter]:
    """The linters of the package that the tree is, by its manifest or its linter's configuration.

    They are slower than the others: most of them build, or know how.
    """
    if "CMakeLists.txt" in files and not suffixes.isdisjoint(CLANG_TIDY_SUFFIXES):
        yield make_clang_tidy(".clang-tidy" if ".clang-tidy" in files else "")
    if "Cargo.toml" in files and not suffixes.isdisjoint(CLIPPY_SUFFIXES):
        yield make_clippy()
    if not suffixes.isdisjoint(ESLINT_SUFFIXES) and (configured := _eslint_config(files, read)):
        yield make_eslint(configured)
    if "go.mod" in files and not suffixes.isdisjoint(VET_SUFFIXES):
        yield make_go_vet()


def _eslint_config(files: Collection[str], read: Read) -> str:
    """The file that configures eslint, "" when none does."""
    own = next((name for name in ESLINT_CONFIGS if name in files), "")
    if own or "package.json" not in files:
        return own
    try:
        manifest = json.loads(read("package.json") or b"")
    except (ValueError, RecursionError):
        return ""
    return "package.json" if isinstance(manifest, dict) and "eslintConfig" in manifest else ""


@lru_cache(maxsize=2)
def _overview(files: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str], str]:
    """The names, their endings, and all names as one text: tens of thousands are not searched one by one."""
    suffixes = frozenset({path[path.rfind(".") :] for path in files})
    return frozenset(files), suffixes, _END.join((*files, ""))


def lint_clues(files: Collection[str]) -> tuple[str, ...]:
    """The files that `find_linters` would read: for who reads them beforehand."""
    return (*sorted(_CLUES.intersection(files)), *_inner_manifests(_overview(tuple(files))[2]))


def _inner_manifests(text: str) -> list[str]:
    """The manifests of projects inside the project, the outermost first; `text` holds all names."""
    if f"/pyproject.toml{_END}" not in text:
        return []
    inner = (path for path in text.split(_END) if path.endswith("/pyproject.toml"))
    return sorted(inner, key=lambda path: (path.count("/"), path))[:_READ_AT_MOST]


def _python(files: Collection[str], text: str, read: Read) -> Iterator[Linter]:
    tools = _tools(read("pyproject.toml")) if "pyproject.toml" in files else {}
    yield make_ruff(_ruff_rules(files, text, read, tools))
    settings = _mypy_settings(files, read, tools)
    if settings:
        path, keys = settings
        yield make_mypy(path, whole=any(keys.get(name) for name in _NAMES_FILES))
    if "pyrightconfig.json" in files:
        yield make_pyright("pyrightconfig.json")
    elif "pyright" in tools or "basedpyright" in tools:
        yield make_pyright("pyproject.toml")


def _ruff_rules(files: Collection[str], text: str, read: Read, tools: Mapping[str, Any]) -> str:
    """The file that holds rules for ruff, wherever in the tree, "" when there is none."""
    if f"{_RUFF}{_END}" in text:
        own = [path for path in files if path.rpartition("/")[2] in (_RUFF, f".{_RUFF}")]
        if own:
            return min(own, key=lambda path: (path.count("/"), path))
    if "ruff" in tools:
        return "pyproject.toml"
    return next((path for path in _inner_manifests(text) if "ruff" in _tools(read(path))), "")


def _mypy_settings(
    files: Collection[str], read: Read, tools: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]] | None:
    """The file that configures mypy and what it says, in the order in which mypy looks for it."""
    for path in ("mypy.ini", ".mypy.ini"):
        if path in files:
            return path, _section(read(path))
    if isinstance(tools.get("mypy"), dict):
        return "pyproject.toml", tools["mypy"]
    keys = _section(read("setup.cfg")) if "setup.cfg" in files else {}
    return ("setup.cfg", keys) if keys else None


def _tools(content: bytes | None) -> Mapping[str, Any]:
    try:
        tools = tomllib.loads((content or b"").decode("utf-8", "replace")).get("tool")
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    return tools if isinstance(tools, dict) else {}


def _section(content: bytes | None) -> Mapping[str, str]:
    """The section `[mypy]` of an ini file."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string((content or b"").decode("utf-8", "replace"))
        return dict(parser["mypy"]) if "mypy" in parser else {}
    except configparser.Error:
        return {}


FINDER: Final = LinterFinder(lint_clues, find_linters)
