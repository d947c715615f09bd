"""What a project's files say about how its tests are run and counted, apart from all else they say."""

import configparser
import json
import re
import tomllib
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any, Final

# Files that are about nothing but tests, or that Python loads before any test.
_WHOLE: Final = re.compile(
    r"(?:pytest|\.pytest)\.(?:ini|toml)|\.coveragerc(?:\.toml)?|(?:site|user)customize\.py|"
    r"CTest(?:Custom|Config)\.(?:cmake|ctest)(?:\.in)?|(?:jest|vitest|karma)\.config\.\w+|\.mocharc\.\w+"
)
_INI_SECTION: Final = re.compile(r"pytest|tool:pytest|coverage:|testenv|tox\b")
_CMAKE_TEST: Final = re.compile(
    r"\b(?:enable_testing|add_test|set_tests_properties|include\s*\(\s*CTest|\w*(?:gtest|catch|doctest)\w*)\b",
    re.I,
)
_CMAKE_CALL: Final = re.compile(r"\b\w+\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")
_TEST_SOURCE: Final = re.compile(r"[\w./${}-]*test[\w./${}-]*\.(?:c|cc|cpp|cxx)\b", re.I)
_MAKE_RULE: Final = re.compile(r"^(?:test|check)\w*\s*:(?![:=])[^\n]*\n(?:\t[^\n]*(?:\n|$))*", re.M)


def is_runner_file(path: str) -> bool:
    """Whether the whole file is about how tests are run."""
    return bool(_WHOLE.fullmatch(PurePosixPath(path).name))


def runner_settings(path: str, content: bytes | None) -> Any:
    """The part of a file that says how tests are run, to be compared; None where it says nothing of them.

    A manifest that cannot be parsed is compared whole.
    """
    read = _reader(PurePosixPath(path).name)
    if read is None or content is None:
        return None
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    try:
        return read(text) or None
    except (ValueError, configparser.Error, RecursionError):
        return text


def _reader(name: str) -> Callable[[str], Any] | None:
    if name == "CMakeLists.txt" or name.endswith(".cmake"):
        return _cmake
    if name in ("GNUmakefile", "makefile", "Makefile"):
        return _MAKE_RULE.findall
    return {"pyproject.toml": _pyproject, "setup.cfg": _ini, "tox.ini": _ini, "package.json": _package}.get(
        name
    )


def _pyproject(text: str) -> Any:
    tools = tomllib.loads(text).get("tool")
    told = tools if isinstance(tools, dict) else {}
    return {name: told[name] for name in ("pytest", "coverage", "tox") if name in told}


def _ini(text: str) -> Any:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections() if _INI_SECTION.match(name)}


def _package(text: str) -> Any:
    data = json.loads(text)
    if not isinstance(data, dict):
        return None
    scripts = data.get("scripts")
    told = {name: data[name] for name in ("jest", "vitest", "mocha", "nyc", "c8") if name in data}
    for name in ("pretest", "test", "posttest"):
        if isinstance(scripts, dict) and name in scripts:
            told[f"scripts.{name}"] = scripts[name]
    return told


def _cmake(text: str) -> Any:
    """The commands about tests, and the sources of tests that other commands name, in their order."""
    script = re.sub(r"#\[\[.*?\]\]", "", text, flags=re.S)
    script = re.sub(r"#[^\n]*", "", script)
    told: list[str] = []
    for call in _CMAKE_CALL.findall(script):
        if _CMAKE_TEST.search(call):
            told.append(" ".join(call.split()))
        else:
            told += _TEST_SOURCE.findall(call)
    return told
