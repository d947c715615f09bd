"""Find where a project starts: its commands, programs and main functions, as its files say."""

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator
from posixpath import splitext
from typing import Final, Literal

from msgspec import Struct

from kith.context.source import CPP_ENDINGS
from kith.core.toml_text import inner_table, read_toml

Kind = Literal["command", "main", "program", "target"]


class EntryPoint(Struct, frozen=True):
    """A way in: `command` (installed by name), `main` (a file), `program` (built), `target` (of make)."""

    kind: Kind
    name: str
    path: str
    target: str = ""  # what it starts: `package.module:function`, a script


_MAINS: Final = {
    ".go": re.compile(r"^package main\b(?s:.*?)^func main\(\)", re.M),
    ".rs": re.compile(r"^(?:async )?fn main\(\)", re.M),
    ".java": re.compile(r"\bpublic\s+static\s+void\s+main\s*\("),
    ".kt": re.compile(r"^fun main\(", re.M),
    **dict.fromkeys(CPP_ENDINGS, re.compile(r"^(?:int|auto)\s+w?main\s*\(", re.M)),
}
_RULE: Final = re.compile(r"^([A-Za-z0-9][\w.-]*(?:[ \t]+[A-Za-z0-9][\w.-]*)*)[ \t]*::?(?!=)", re.M)
_EXECUTABLE: Final = re.compile(r"^[^#\n]*?\badd_executable[ \t]*\(\s*([\w.+-]+)", re.M | re.I)
_SECTION: Final = re.compile(r"^\[options\.entry_points\]\s*$(.*?)(?=^\[|\Z)", re.M | re.S)
_SCRIPTS: Final = re.compile(r"(?:console|gui)_scripts\s*=\s*((?:\n[ \t]+\S[^\n]*)+)")
_TARGETS: Final = 6  # of a makefile: the first ones are meant for people


def find_entries(path: str, text: str) -> tuple[EntryPoint, ...]:
    """The entry points of a project in one file. Python's mains are found by `is_main_module`."""
    name = path.rpartition("/")[2]
    find = MANIFESTS.get(name)
    if find is not None:
        return tuple(EntryPoint(kind, each, path, target) for kind, each, target in find(text))
    main = _MAINS.get(splitext(name)[1].lower())
    return (EntryPoint("main", "main", path),) if main and main.search(text) else ()


def is_main_module(path: str, tree: ast.Module) -> bool:
    """Tell whether a Python file is meant to be started: `__main__.py`, or a test of `__name__`."""
    return path.rpartition("/")[2] == "__main__.py" or any(map(_tests_name, tree.body))


def _tests_name(node: ast.stmt) -> bool:
    test = node.test if isinstance(node, ast.If) else None
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = [test.left, *test.comparators]
    names = [each.id for each in sides if isinstance(each, ast.Name)]
    texts = [each.value for each in sides if isinstance(each, ast.Constant)]
    return names == ["__name__"] and texts == ["__main__"]


# --- manifests ---------------------------------------------------------------------------------

_Found = Iterator[tuple[Kind, str, str]]


def _pyproject(text: str) -> _Found:
    data = read_toml(text)
    for names in (("project", "scripts"), ("project", "gui-scripts"), ("tool", "poetry", "scripts")):
        for name, target in inner_table(data, *names).items():
            yield "command", name, target if isinstance(target, str) else ""


def _setup_cfg(text: str) -> _Found:
    for section in _SECTION.findall(text):
        for block in _SCRIPTS.findall(section):
            for line in block.strip().split("\n"):
                name, _, target = line.partition("=")
                yield "command", name.strip(), target.strip()


def _cargo(text: str) -> _Found:
    data = read_toml(text)
    programs = data.get("bin")
    for program in programs if isinstance(programs, list) else ():
        if isinstance(program, dict) and isinstance(program.get("name"), str):
            yield "program", program["name"], str(program.get("path", ""))


def _package(text: str) -> _Found:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    data = data if isinstance(data, dict) else {}
    programs, name = data.get("bin"), str(data.get("name", ""))
    if isinstance(programs, str):
        yield "command", name.rpartition("/")[2], programs
    elif isinstance(programs, dict):
        for each, target in programs.items():
            yield "command", each, target if isinstance(target, str) else ""
    if isinstance(data.get("main"), str):
        yield "main", name, data["main"]


def _cmake(text: str) -> _Found:
    for name in dict.fromkeys(_EXECUTABLE.findall(text)):
        yield "program", name, ""


def _make(text: str) -> _Found:
    names = dict.fromkeys(name for rule in _RULE.findall(text) for name in rule.split())
    for name in list(names)[:_TARGETS]:
        yield "target", name, ""


MANIFESTS: Final[dict[str, Callable[[str], _Found]]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": _setup_cfg,
    "Cargo.toml": _cargo,
    "package.json": _package,
    "CMakeLists.txt": _cmake,
    **dict.fromkeys(("GNUmakefile", "Makefile", "makefile"), _make),
}


def order_entries(entries: Iterable[EntryPoint]) -> tuple[EntryPoint, ...]:
    """Commands first, then programs, targets and mains; of each those nearest to the top first."""
    kinds: tuple[Kind, ...] = ("command", "program", "target", "main")
    return tuple(
        sorted(entries, key=lambda each: (kinds.index(each.kind), each.path.count("/"), each.path, each.name))
    )
