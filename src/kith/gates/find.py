"""Which checks a project already has: the test commands its own files speak of."""

import json
import os
import re
import shlex
import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final

# Debian has no `python`, Windows no `python3`; an environment of the project's own has both.
PYTHON: Final = "python" if os.name == "nt" else "python3"
Read = Callable[[str], bytes | None]

# CMake's, out of the sources. It ignores itself, so it is in nobody's change.
BUILD_FOLDER: Final = ".kith-build"
_MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
# The files at the top of a tree whose content says something; some test modules are read too.
CLUES: Final = frozenset(
    {"CMakeLists.txt", "package.json", "pyproject.toml", "setup.cfg", "tox.ini", *_MAKEFILES}
)
_TEST_MODULE: Final = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_READ_AT_MOST: Final = 8  # test files, to see which framework they use


@dataclass(frozen=True, slots=True)
class Check:
    """A command whose exit code says whether the tree is good; `why` names what spoke for it."""

    name: str
    command: str
    why: str


def find_checks(files: Collection[str], read: Read) -> tuple[Check, ...]:
    """The checks of a tree, the most specific first, at most one per ecosystem.

    `files` are paths relative to the root, `read` gives a file's bytes or None. Only the top folder is asked
    for manifests; a project inside a project is its own affair.
    """
    found = [
        check for find in (_python, _cmake, _cargo, _go, _node) if (check := find(frozenset(files), read))
    ]
    make = _make(frozenset(files), read, found)
    return tuple([*found, make] if make else found)


def choose_clues(files: Collection[str]) -> tuple[str, ...]:
    """The files that `find_checks` would read: for who reads them beforehand."""
    tests = sorted(path for path in files if _TEST_MODULE.search(path))
    return (*sorted(CLUES.intersection(files)), *tests[:_READ_AT_MOST])


def _text(read: Read, path: str) -> str:
    return (read(path) or b"").decode("utf-8", "replace")


# --- Python ----------------------------------------------------------------------------------


def _python(files: Collection[str], read: Read) -> Check | None:
    tests = sorted(path for path in files if _TEST_MODULE.search(path))
    configured = _pytest_configuration(files, read)
    if configured:
        return Check("pytest", f"{PYTHON} -m pytest -q", configured)
    if not tests:
        return None
    conftest = next((path for path in sorted(files) if path.rpartition("/")[2] == "conftest.py"), "")
    sources = [text for path in tests[:_READ_AT_MOST] if (text := _text(read, path))]
    only_unittest = bool(sources) and not conftest and all(_is_unittest(text) for text in sources)
    if only_unittest:
        return Check("unittest", _unittest_command(tests, files), f"{tests[0]} uses unittest")
    return Check("pytest", f"{PYTHON} -m pytest -q", conftest or f"{tests[0]} is a test module")


def _pytest_configuration(files: Collection[str], read: Read) -> str:
    """Where pytest is configured or asked for, "" when nowhere."""
    if "pytest.ini" in files or ".pytest.ini" in files:
        return "pytest.ini"
    if "pyproject.toml" in files and _mentions_pytest(_text(read, "pyproject.toml")):
        return "pyproject.toml names pytest"
    sections = {"setup.cfg": "[tool:pytest]", "tox.ini": "[pytest]"}
    for path, section in sections.items():
        if path in files and section in _text(read, path):
            return f"{path} has {section}"
    return ""


def _mentions_pytest(text: str) -> bool:
    """True when pytest has a table of its own or is among the requirements of any group."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    if "pytest" in _table(data, "tool"):
        return True
    groups = (_table(data, "dependency-groups"), _table(data, "project", "optional-dependencies"))
    lists = [items for group in groups for items in group.values() if isinstance(items, list)]
    required = [item for items in lists for item in items if isinstance(item, str)]
    return any(re.match(r"pytest\b(?!-)", item) for item in required)


def _table(data: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        inner = data.get(name)
        data = inner if isinstance(inner, dict) else {}
    return data


def _is_unittest(text: str) -> bool:
    for_pytest = re.search(r"\bpytest\b|^(?:async )?def test_", text, re.M)
    return bool(re.search(r"\bunittest\b", text)) and not for_pytest


def _unittest_command(tests: list[str], files: Collection[str]) -> str:
    """Discovery begins at the top, or in the folder of tests that the top's discovery would not enter."""
    folders = {path.rpartition("/")[0] for path in tests}
    if any(not folder or f"{folder.split('/')[0]}/__init__.py" in files for folder in folders):
        return f"{PYTHON} -m unittest discover"
    shallowest = min(folders, key=lambda folder: (folder.count("/"), folder))
    return f"{PYTHON} -m unittest discover -s {shlex.quote(shallowest)}"


# --- the others ------------------------------------------------------------------------------


def _cmake(files: Collection[str], read: Read) -> Check | None:
    if "CMakeLists.txt" not in files:
        return None
    script = re.sub(r"#.*", "", _text(read, "CMakeLists.txt"))
    told = re.search(r"\b(enable_testing|add_test|include\s*\(\s*CTest)\b", script, re.I)
    if not told:
        return None
    jobs, folder = os.cpu_count() or 2, BUILD_FOLDER
    steps = (
        f"cmake -S . -B {folder} -DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        f'cmake -E echo "*" > {folder}/.gitignore',
        f"cmake --build {folder} --parallel {jobs}",
        f"ctest --test-dir {folder} --output-on-failure",
    )
    return Check("ctest", " && ".join(steps), f"CMakeLists.txt has {told[1].split('(')[0].strip()}")


def _cargo(files: Collection[str], read: Read) -> Check | None:
    return Check("cargo test", "cargo test --offline", "Cargo.toml") if "Cargo.toml" in files else None


def _go(files: Collection[str], read: Read) -> Check | None:
    return Check("go test", "go test ./...", "go.mod") if "go.mod" in files else None


def _node(files: Collection[str], read: Read) -> Check | None:
    if "package.json" not in files:
        return None
    try:
        data = json.loads(_text(read, "package.json"))
    except ValueError:
        return None
    script = _table(data, "scripts").get("test") if isinstance(data, dict) else None
    # What `npm init` writes where there are no tests.
    if not isinstance(script, str) or not script.strip() or "no test specified" in script:
        return None
    locks = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun run", "bun.lockb": "bun run"}
    program = next((name for lock, name in locks.items() if lock in files), "npm")
    return Check(f"{program} test", f"{program} test", "package.json has a test script")


def _make(files: Collection[str], read: Read, found: list[Check]) -> Check | None:
    """`make test` or `make check`, unless it only starts what was found already."""
    path = next((name for name in _MAKEFILES if name in files), "")
    script = _text(read, path) if path else ""
    for target in ("test", "check"):
        rule = re.search(rf"^{target}\s*:(?![:=])[^\n]*\n((?:\t[^\n]*(?:\n|$))*)", script + "\n", re.M)
        if rule and not any(check.name in rule[1] for check in found):
            return Check(f"make {target}", f"make {target}", f"{path} has a target {target}")
    return None
