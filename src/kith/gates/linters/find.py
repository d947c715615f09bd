"""Which linters speak for a project: its own configuration says, and the languages it is written in."""

import configparser
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from kith.gates.linters import clang_tidy, cppcheck, ruff, shellcheck
from kith.gates.linters.linter import Linter
from kith.gates.linters.mypy import make_mypy
from kith.gates.linters.pyright import make_pyright
from kith.gates.toolchains import Read

_CLUES: Final = frozenset({".mypy.ini", "mypy.ini", "pyproject.toml", "setup.cfg"})
_RUFF: Final = "ruff.toml"
_END: Final = "\0"  # no path holds it
_READ_AT_MOST: Final = 8  # manifests of projects inside the project
# The keys of mypy's configuration that name what is checked.
_NAMES_FILES: Final = ("files", "packages", "modules")


def find_linters(files: Collection[str], read: Read) -> tuple[Linter, ...]:
    """The linters of a tree: for each language one that needs no asking, and what the project configures.

    `files` are paths relative to the root, `read` gives a file's bytes or None. Nobody looks here whether a
    tool is installed; that shows when it is run.
    """
    names = files if isinstance(files, frozenset) else frozenset(files)
    text = _as_text(files)
    found = [*_python(names, text, read)] if _has(text, ruff.SUFFIXES) else []
    if _has(text, cppcheck.SUFFIXES):
        if "CMakeLists.txt" in names:
            found.append(clang_tidy.make_clang_tidy(".clang-tidy" if ".clang-tidy" in names else ""))
        found.append(cppcheck.make_cppcheck())
    if _has(text, shellcheck.SUFFIXES):
        found.append(shellcheck.make_shellcheck())
    return tuple(found)


def _as_text(files: Collection[str]) -> str:
    """All names as one text: of tens of thousands none is looked at by itself."""
    return _END.join((*files, ""))


def _has(text: str, suffixes: Iterable[str]) -> bool:
    """Whether a name in the text ends so."""
    return any(f"{suffix}{_END}" in text for suffix in suffixes)


def lint_clues(files: Collection[str]) -> tuple[str, ...]:
    """The files that `find_linters` would read: for who reads them beforehand."""
    return (*sorted(_CLUES.intersection(files)), *_inner_manifests(_as_text(files)))


def _inner_manifests(text: str) -> list[str]:
    """The manifests of projects inside the project, the outermost first; `text` holds all names."""
    if not _has(text, ["/pyproject.toml"]):
        return []
    inner = (path for path in text.split(_END) if path.endswith("/pyproject.toml"))
    return sorted(inner, key=lambda path: (path.count("/"), path))[:_READ_AT_MOST]


def _python(files: Collection[str], text: str, read: Read) -> Iterator[Linter]:
    tools = _tools(read("pyproject.toml")) if "pyproject.toml" in files else {}
    yield ruff.make_ruff(_ruff_rules(files, text, read, tools))
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
    if _has(text, [_RUFF]):
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
