"""Python's toolchain: pytest or unittest, in the project's own environment."""

import re
import shlex
import tomllib
from collections.abc import Collection
from typing import Any, Final

from kith.gates.toolchains.toolchain import PYTHON, Read, Toolchain

PYTHON_CLUES: Final = (".coveragerc", "pyproject.toml", "setup.cfg", "tox.ini")
PYTHON_MANIFESTS: Final = frozenset(
    {".pytest.ini", "conftest.py", "pyproject.toml", "pytest.ini", "setup.cfg", "setup.py", "tox.ini"}
)
TEST_MODULES_READ: Final = 8  # to see which framework they use
_TEST_MODULE: Final = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_PYTEST: Final = f"{PYTHON} -m pytest -q"
# What nobody means to test: how the project is installed and described, and what is not its own.
_BESIDE: Final = "setup.py,docs/*,doc/*,.venv/*,venv/*,.kith-build/*"
_COVERAGE_TABLES: Final = {
    "pyproject.toml": "[tool.coverage.",
    "setup.cfg": "[coverage:",
    "tox.ini": "[coverage:",
}


def find_python(files: Collection[str], read: Read) -> Toolchain | None:
    """pytest where a file asks for it, unittest where all test modules seen are its own, else pytest."""
    tests = test_modules(files)
    configured = _pytest_configuration(files, read)
    measure = _coverage_options(files, read)
    if configured:
        return Toolchain("pytest", "Python", configured, _PYTEST, "pytest", coverage=measure)
    if not tests:
        return None
    conftest = min((path for path in files if f"/{path}".endswith("/conftest.py")), default="")
    sources = [text for path in tests[:TEST_MODULES_READ] if (text := _text(read, path))]
    if sources and not conftest and all(_is_unittest(text) for text in sources):
        why, line = f"{tests[0]} uses unittest", _unittest_line(tests, files)
        return Toolchain("unittest", "Python", why, line, "unittest", coverage=measure)
    why = conftest or f"{tests[0]} is a test module"
    return Toolchain("pytest", "Python", why, _PYTEST, "pytest", coverage=measure)


def test_modules(files: Collection[str]) -> list[str]:
    """The Python files that are named like tests, sorted."""
    # Few of many files get as far as the pattern, which is slow.
    return sorted(
        path for path in files if path.endswith(".py") and "test" in path and _TEST_MODULE.search(path)
    )


def _text(read: Read, path: str) -> str:
    return (read(path) or b"").decode("utf-8", "replace")


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
    if "tox.ini" in files and re.search(r"^[^#;\n]*\bpytest\b(?!-)", _text(read, "tox.ini"), re.M):
        return "tox.ini names pytest"
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
    own = re.search(r"\bunittest\b|^class \w+\([\w., ]*\bTestCase\b", text, re.M)
    return bool(own) and not for_pytest


def _unittest_line(tests: list[str], files: Collection[str]) -> str:
    """Discovery begins at the top, or in the folder of tests that the top's discovery would not enter."""
    folders = {path.rpartition("/")[0] for path in tests}
    if any(not folder or f"{folder.split('/')[0]}/__init__.py" in files for folder in folders):
        return f"{PYTHON} -m unittest discover"
    shallowest = min(folders, key=lambda folder: (folder.count("/"), folder))
    return f"{PYTHON} -m unittest discover -s {shlex.quote(shallowest)}"


def _coverage_options(files: Collection[str], read: Read) -> str:
    """The project's own choice of what to measure stands; else everything that is not beside the point."""
    own = ".coveragerc" in files or any(
        path in files and table in _text(read, path) for path, table in _COVERAGE_TABLES.items()
    )
    return "--branch" if own else f"--branch --source=. --omit={shlex.quote(_BESIDE)}"
