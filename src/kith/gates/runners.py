"""What a project's files say about how its tests are run and counted, apart from all else they say."""

import configparser
import json
import re
import tomllib
from collections.abc import Callable
from pathlib import PurePosixPath
from posixpath import splitext
from typing import Any, Final

from kith.context.tokens import CPP_ENDINGS
from kith.gates.toolchains import BUILD_FOLDER

# Files that are about nothing but tests, or that Python loads before any test.
_WHOLE: Final = re.compile(
    r"(?:pytest|\.pytest)\.(?:ini|toml)|\.coveragerc(?:\.toml)?|(?:site|user)customize\.py|"
    r"CTest(?:Custom|Config)\.(?:cmake|ctest)(?:\.in)?|(?:jest|vitest|karma)\.config\.\w+|\.mocharc\.\w+|"
    r"(?:run[-_]?)?tests?(?:\.(?:py|(?:ba)?sh))?"
)
# What would be found in place of a framework of tests, or be loaded by it as a plugin.
_IN_PLACE: Final = re.compile(
    r"(?:src/)?(?:_?pytest|unittest|doctest|pluggy|coverage)(?:/__init__)?\.py|"
    r"(?:.*/)?[^/]+\.(?:egg|dist)-info/.*|"
    r"(?:.*/)?(?:(?:gtest|gmock)/[^/]+\.h|(?:catch|catch_amalgamated|doctest)\.(?:h|hpp|cpp))|"
    rf"{re.escape(BUILD_FOLDER)}(?:/.*)?"
)
_INI_SECTION: Final = re.compile(r"pytest|tool:pytest|coverage:|testenv|tox\b")
_CMAKE_TEST: Final = re.compile(
    r"\b(?:enable_testing|add_test|set_tests_properties|set_property\s*\(\s*TEST|"
    r"\w*CROSSCOMPILING_EMULATOR|include\s*\(\s*CTest|\w*(?:gtest|catch|doctest)\w*|"
    r"(?:target_(?:pre)?compile_\w+|set_target_properties|add_custom_command)\s*\(\s*(?:TARGET\s+)?\w*test\w*)\b",
    re.I,
)
_CMAKE_CALL: Final = re.compile(r"\b\w+\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")
_TEST_SOURCE: Final = re.compile(r"[\w./${}-]*test[\w./${}-]*\.(?:c|cc|cpp|cxx)\b", re.I)
_MAKE_RULE: Final = re.compile(r"^(?:test|check)\w*\s*:(?!:?=)[^\n]*\n(?:\t[^\n]*(?:\n|$))*", re.M)
_MAKE_VARIABLE: Final = re.compile(r"^[ ]*(?:export\s+|override\s+)*([\w.]+)\s*(?::{0,3}|[+?!])=[^\n]*", re.M)
# Python that knows it is tested: it reads or patches what runs its tests, or what they leave behind.
_LOOKS_AT_TESTS: Final = re.compile(
    rf"^.*(?:{re.escape(BUILD_FOLDER)}|\bPYTEST_\w+|\b_pytest\b|\bpytest_plugins\b|"
    r"[\"'](?:pytest|unittest|_pytest)\b[^\n]*\bsys\.modules\b|\bsys\.modules\[[\"'](?:pytest|unittest|_py)|"
    r"\b(?:unittest|pytest)(?:\.\w+)+\s*=(?!=)|\bsetattr\(\s*(?:unittest|pytest)\b).*$",
    re.M,
)
# C and C++ that gives the macros of a framework another meaning.
_TEST_MACRO: Final = re.compile(
    r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+"
    r"(?:NDEBUG|(?:EXPECT|ASSERT)_[A-Z_]+|REQUIRE\w*|TEST(?:_[FP]|_CASE)?|GTEST_\w+)\b.*$",
    re.M,
)


def is_runner_file(path: str) -> bool:
    """Whether the whole file is about how tests are run."""
    return bool(_WHOLE.fullmatch(PurePosixPath(path).name) or _IN_PLACE.fullmatch(path))


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
        return _make
    if name.endswith(".py"):
        return _LOOKS_AT_TESTS.findall
    if splitext(name)[1].lower() in CPP_ENDINGS:
        return _TEST_MACRO.findall
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


def _make(text: str) -> Any:
    """The rules of tests, and the variables that their commands use."""
    rules = _MAKE_RULE.findall(text)
    used = set(re.findall(r"\$[({]([\w.]+)", "".join(rules))) | {"SHELL", ".SHELLFLAGS", "MAKEFLAGS"}
    return rules + [found[0] for found in _MAKE_VARIABLE.finditer(text) if rules and found[1] in used]


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
