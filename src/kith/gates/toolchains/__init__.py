"""Find a project's commands to configure, build and test it; one module for each ecosystem."""

import re
from collections.abc import Collection

from msgspec.structs import replace

from kith.gates.toolchains.cmake import cmake_clues, find_cmake
from kith.gates.toolchains.ecosystems import ecosystem_clues, find_ecosystems, find_native
from kith.gates.toolchains.manifests import (
    INNER_MAKEFILES,
    MAKEFILES,
    NODE_CLUES,
    OTHER_CLUES,
    find_cargo,
    find_go,
    find_make,
    find_node,
)
from kith.gates.toolchains.python import (
    PYTHON_CLUES,
    PYTHON_MANIFESTS,
    TEST_MODULES_READ,
    find_python,
    needs_clues,
    test_modules,
)
from kith.gates.toolchains.stated_commands import find_stated, stated_clues
from kith.gates.toolchains.toolchain import BUILD_FOLDER, PYTHON, Read, Toolchain, read_text

__all__ = [
    "BUILD_FOLDER",
    "PYTHON",
    "Read",
    "Toolchain",
    "choose_clues",
    "find_candidates",
    "find_toolchains",
]

_CLUES = frozenset({*MAKEFILES, *INNER_MAKEFILES, *NODE_CLUES, *OTHER_CLUES, *PYTHON_CLUES, ".gitmodules"})


def find_candidates(files: Collection[str], read: Read) -> tuple[tuple[Toolchain, ...], ...]:
    """Groups of alternative toolchains, one group for each ecosystem; in a group the most promising first.

    `files` are paths relative to the root, `read` gives a file's bytes or None. Only the top folder is asked
    for manifests; a project inside a project is its own affair.
    """
    tree = frozenset(files)
    stated = find_stated(tree, read)
    python, cmake = find_python(tree, read, stated), find_cmake(tree, read)
    if cmake and not PYTHON_MANIFESTS.intersection(tree):
        python = ()  # scripts among the sources of C++, which CTest starts if anybody does
    asked = [python, cmake, find_cargo(tree, read), find_go(tree, read), find_node(tree, read)]
    made = find_make(tree, read, tuple(each for group in asked for each in group))
    native = find_native(tree, read)
    if cmake or native:
        asked[1] = (*cmake, *native, *made)  # other ways to the same tests
    else:
        asked.append(made)
    if not made:
        asked += find_ecosystems(tree, read, found=any(asked))
    absent = _absent_submodules(tree, read)
    return tuple(tuple(replace(each, absent=absent) for each in group) for group in asked if group)


def find_toolchains(files: Collection[str], read: Read) -> tuple[Toolchain, ...]:
    """The toolchains of a tree, the most specific first, at most one per ecosystem."""
    return tuple(group[0] for group in find_candidates(files, read))


def choose_clues(files: Collection[str]) -> tuple[str, ...]:
    """The files that `find_candidates` would read: for who reads them beforehand."""
    tree = frozenset(files)
    known = {*_CLUES.intersection(tree), *stated_clues(tree), *cmake_clues(tree), *needs_clues(tree)}
    known |= {*ecosystem_clues(tree)}
    return (*sorted(known), *test_modules(tree)[:TEST_MODULES_READ])


def _absent_submodules(files: Collection[str], read: Read) -> tuple[tuple[str, str], ...]:
    """Folders that `.gitmodules` names and that hold no file, with the addresses they come from."""
    text = read_text(read, ".gitmodules") if ".gitmodules" in files else ""
    found = []
    for section in re.split(r"^\[submodule[^\n]*$", text, flags=re.M)[1:]:
        values = dict(re.findall(r"^\s*(path|url)\s*=\s*(\S+)\s*$", section, re.M))
        path = values.get("path", "")
        if path and not any(each.startswith(f"{path}/") for each in files):
            found.append((path, values.get("url", "")))
    return tuple(found)
