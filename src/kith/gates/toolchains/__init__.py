"""Find a project's commands to configure, build and test it; one module for each ecosystem."""

import re
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from kith.gates.runners.python import PYTEST
from kith.gates.toolchain import Ecosystem, Read, Toolchain, narrow, read_text
from kith.gates.toolchains.cmake import cmake_clues, find_cmake
from kith.gates.toolchains.manifests import (
    INNER_MAKEFILES,
    MAKEFILES,
    NODE_CLUES,
    find_make,
    find_node,
)
from kith.gates.toolchains.native import find_native, native_clues
from kith.gates.toolchains.nested import (
    MOST_PROJECTS,
    files_in,
    only_folder,
    outside,
    project_folders,
    reader_in,
)
from kith.gates.toolchains.python import (
    PYTHON_CLUES,
    PYTHON_MANIFESTS,
    TEST_MODULES_READ,
    find_python,
    needs_clues,
    read_settings,
    test_modules,
)
from kith.gates.toolchains.stated_commands import find_stated, stated_clues

_CLUES = frozenset({*MAKEFILES, *INNER_MAKEFILES, *NODE_CLUES, *PYTHON_CLUES, ".gitmodules"})
_FOLDERS_READ = 2 * MOST_PROJECTS  # some may have no tests; a change shows which of the others count
_MANIFESTS_READ = 40  # of one ecosystem
_Group = tuple[Toolchain, ...]
_Groups = tuple[_Group, ...]


def find_candidates(files: Collection[str], read: Read, ecosystems: Sequence[Ecosystem]) -> _Groups:
    """Groups of alternative toolchains, one group for each ecosystem; in a group the most promising first.

    `files` are paths relative to the root, `read` gives a file's bytes or None. The projects in its folders
    are asked where the top folder is none.
    """
    tree = frozenset(files)
    groups = _find_at_top(tree, read, ecosystems)
    folders = _nested_folders(tree, read, groups)
    if nested := [group for folder in folders for group in find_nested(folder, tree, read, ecosystems)]:
        groups = _with_guess(nested, groups, list(outside(folders, test_modules(tree))))
    elif [each[0].language for each in groups] == ["Python"] and not PYTHON_MANIFESTS.intersection(tree):
        # Tests that nothing tells of may be those of a program that starts in its folder.
        below = only_folder(test_modules(tree))
        program = below and f"{below}/__init__.py" not in tree
        more = find_nested(below, tree, read, ecosystems) if program else ()
        groups = ((*groups[0], *(each for group in more for each in group if each.language == "Python")),)
    absent = _absent_submodules(tree, read)
    return tuple(tuple(replace(each, absent=absent) for each in group) for group in groups)


def _nested_folders(tree: frozenset[str], read: Read, groups: _Groups) -> list[str]:
    """The folders to ask: none where the top has a project with tests, or has pytest configured."""
    if any(group[0].language != "Python" for group in groups):
        return []
    folders = project_folders(tree)
    configured = PYTHON_MANIFESTS.intersection(tree) and (
        read_settings(tree, read).where or any(outside(folders, test_modules(tree)))
    )
    return [] if configured else folders[:_FOLDERS_READ]


def _with_guess(nested: Sequence[_Group], top: _Groups, beside: Sequence[str]) -> _Groups:
    """The projects in folders, and what starts at the top: Python tests that were found without a manifest.

    The top is a project of its own, if none in a folder is Python's. It is one, too, if there are tests
    `beside` those, which start nowhere else. Otherwise it is another way to the tests of the only Python
    project. Of many projects those that a change touches are checked, and the top alone: it may see what
    depends on them.
    """
    if len(nested) > MOST_PROJECTS:
        return top
    python = [group for group in nested if group[0].language == "Python"]
    guess = tuple(each for group in top for each in group)
    if guess and (beside or not python):
        return (*nested, _start_beside(guess, beside, python) if python else guess)
    if len(python) > 1:
        return tuple(nested)
    return tuple((*group, *guess) if group in python else group for group in nested)


def _start_beside(guess: _Group, tests: Sequence[str], python: Sequence[_Group]) -> _Group:
    """The ways to start only the tests beside the Python projects."""
    names, why = sorted({_above(path, python) for path in tests}), f"{tests[0]} is a test module"
    return tuple(replace(narrow(each, names), why=why) for each in guess if each.runner is PYTEST) or guess


def _above(path: str, groups: Sequence[_Group]) -> str:
    """The folder at the top that holds a file, or the file itself if a project shares that folder."""
    top = path.partition("/")[0]
    return path if any(f"{group[0].folder}/".startswith(f"{top}/") for group in groups) else top


def find_nested(folder: str, files: Collection[str], read: Read, ecosystems: Sequence[Ecosystem]) -> _Groups:
    """The groups of the project in a folder."""
    found = _find_at_top(files_in(folder, files), reader_in(f"{folder}/", read), ecosystems)
    return tuple(
        tuple(replace(each, folder=folder, why=f"{folder}/{each.why}") for each in group) for group in found
    )


def folders_beside(files: Collection[str], known: Sequence[_Group], paths: Sequence[str]) -> list[str]:
    """The folders with projects that hold one of some paths, and that the `known` groups leave out.

    A command without a language, such as `make test`, may start anything.
    """
    tops = [group[0] for group in known]
    if not any("/" in path for path in paths) or any(not each.language for each in tops):
        return []
    folders = set(project_folders(files)).difference(each.folder for each in tops)
    touched = (folder for folder in sorted(folders) if any(path.startswith(f"{folder}/") for path in paths))
    return list(touched)[:MOST_PROJECTS]


def _find_at_top(tree: frozenset[str], read: Read, ecosystems: Sequence[Ecosystem]) -> _Groups:
    stated = find_stated(tree, read)
    python, cmake = find_python(tree, read, stated), find_cmake(tree, read)
    if cmake and not PYTHON_MANIFESTS.intersection(tree):
        python = ()  # scripts among the sources of C++, which CTest starts if anybody does
    always = [tuple(each.find(tree, read)) for each in ecosystems if each.asked == "always"]
    asked = [python, cmake, *always, find_node(tree, read)]
    made = find_make(tree, read, tuple(each for group in asked for each in group))
    native = find_native(tree, read)
    if cmake or native:
        asked[1] = (*cmake, *native, *made)  # other ways to the same tests
    else:
        asked.append(made)
    if not made:
        asked += [tuple(each.find(tree, read)) for each in ecosystems if each.asked == "late"]
    if not (made or any(asked)):
        last = (tuple(each.find(tree, read)) for each in ecosystems if each.asked == "last")
        asked += [next(filter(None, last), ())]
    return tuple(group for group in asked if group)


def find_toolchains(
    files: Collection[str], read: Read, ecosystems: Sequence[Ecosystem]
) -> tuple[Toolchain, ...]:
    """The toolchains of a tree, the most specific first, at most one per ecosystem."""
    return tuple(group[0] for group in find_candidates(files, read, ecosystems))


def choose_clues(files: Collection[str], ecosystems: Sequence[Ecosystem]) -> tuple[str, ...]:
    """The files that `find_candidates` would read: for who reads them beforehand."""
    tree = frozenset(files)
    clues = _clues_at_top(tree, ecosystems)
    for folder in project_folders(tree)[:_FOLDERS_READ]:
        clues += choose_nested_clues(folder, tree, ecosystems)
    return tuple(dict.fromkeys(clues))


def choose_nested_clues(
    folder: str, files: Collection[str], ecosystems: Sequence[Ecosystem]
) -> tuple[str, ...]:
    """The files that `find_nested` would read."""
    return tuple(f"{folder}/{path}" for path in _clues_at_top(files_in(folder, files), ecosystems))


def _clues_at_top(tree: frozenset[str], ecosystems: Sequence[Ecosystem]) -> tuple[str, ...]:
    known = {
        *_CLUES.intersection(tree),
        *stated_clues(tree),
        *cmake_clues(tree),
        *needs_clues(tree),
        *native_clues(tree),
    }
    top = sorted(path for path in tree if "/" not in path)
    for each in ecosystems:
        known |= {*[path for path in top if re.fullmatch(each.clues, path)][:_MANIFESTS_READ]}
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
