"""Which toolchains a tree has: each ecosystem is asked in turn."""

from collections.abc import Collection

from kith.gates.toolchains.cmake import CMAKE_CLUES, find_cmake
from kith.gates.toolchains.make import MAKEFILES, find_make
from kith.gates.toolchains.node import NODE_CLUES, find_node
from kith.gates.toolchains.others import find_cargo, find_go
from kith.gates.toolchains.python import (
    PYTHON_CLUES,
    PYTHON_MANIFESTS,
    TEST_MODULES_READ,
    find_python,
    test_modules,
)
from kith.gates.toolchains.toolchain import Read, Toolchain

_CLUES = frozenset({*CMAKE_CLUES, *MAKEFILES, *NODE_CLUES, *PYTHON_CLUES})


def find_toolchains(files: Collection[str], read: Read) -> tuple[Toolchain, ...]:
    """The toolchains of a tree, the most specific first, at most one per ecosystem.

    `files` are paths relative to the root, `read` gives a file's bytes or None. Only the top folder is asked
    for manifests; a project inside a project is its own affair.
    """
    tree = frozenset(files)
    python, cmake = find_python(tree, read), find_cmake(tree, read)
    if cmake and not PYTHON_MANIFESTS.intersection(tree):
        python = None  # scripts among the sources of C++, which CTest starts if anybody does
    asked = (python, cmake, find_cargo(tree, read), find_go(tree, read), find_node(tree, read))
    found = [toolchain for toolchain in asked if toolchain]
    make = find_make(tree, read, tuple(found))
    return tuple([*found, make] if make else found)


def choose_clues(files: Collection[str]) -> tuple[str, ...]:
    """The files that `find_toolchains` would read: for who reads them beforehand."""
    return (*sorted(_CLUES.intersection(files)), *test_modules(files)[:TEST_MODULES_READ])
