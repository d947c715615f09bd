"""The gate that keeps tests as they were agreed, and the project's files that say how they are run."""

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import PurePosixPath
from posixpath import splitext
from typing import Any, Final

from kith.context.source import CPP_ENDINGS
from kith.core.errors import TreeError
from kith.core.patterns import lazy_pattern
from kith.core.run import Gate, Run
from kith.core.values import Change, Changes, Verdict
from kith.edits.hunks import keep_hunks, split_hunks
from kith.edits.rows import touched_lines
from kith.gates.toolchain import BUILD_FOLDER

# What a project's files say about how its tests are run and counted, apart from all else they say.

# Files that are about nothing but tests, or that Python loads before any test.
_WHOLE: Final = lazy_pattern(
    r"(?:pytest|\.pytest)\.(?:ini|toml)|\.coveragerc(?:\.toml)?|(?:site|user)customize\.py|"
    r"CTest(?:Custom|Config)\.(?:cmake|ctest)(?:\.in)?|(?:jest|vitest|karma)\.config\.\w+|\.mocharc\.\w+|"
    r"tests?(?:\.(?:ba)?sh)?|run[-_]?tests?(?:\.(?:py|(?:ba)?sh))?"
)
# What would be found in place of a framework of tests, or be loaded by it as a plugin.
_IN_PLACE: Final = lazy_pattern(
    r"(?:src/)?(?:_?pytest|unittest|doctest|pluggy|coverage)(?:/__init__)?\.py|"
    r"(?:.*/)?[^/]+\.(?:egg|dist)-info/.*|"
    r"(?:.*/)?(?:(?:gtest|gmock)/[^/]+\.h|(?:catch|catch_amalgamated|doctest)\.(?:h|hpp|cpp))|"
    rf"{re.escape(BUILD_FOLDER)}(?:/.*)?"
)
_INI_SECTION: Final = lazy_pattern(r"pytest|tool:pytest|coverage:|testenv|tox\b")
_CMAKE_TEST: Final = lazy_pattern(
    r"\b(?:enable_testing|add_test|set_tests_properties|set_property\s*\(\s*TEST|"
    r"\w*CROSSCOMPILING_EMULATOR|include\s*\(\s*CTest|\w*(?:gtest|catch|doctest)\w*|"
    r"(?:target_(?:pre)?compile_\w+|set_target_properties|add_custom_command)\s*\(\s*(?:TARGET\s+)?\w*test\w*)\b",
    re.I,
)
_CMAKE_CALL: Final = lazy_pattern(r"\b\w+\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")
_TEST_SOURCE: Final = lazy_pattern(r"(?<![\w./${}-])[\w./${}-]*test[\w./${}-]*\.(?:c|cc|cpp|cxx)\b", re.I)
_MAKE_RULE: Final = lazy_pattern(r"^(?:test|check)\w*\s*:(?!:?=)[^\n]*\n(?:\t[^\n]*(?:\n|$))*", re.M)
_MAKE_VARIABLE: Final = lazy_pattern(
    r"^[ ]*(?:export\s+|override\s+)*([\w.]+)\s*(?::{0,3}|[+?!])=[^\n]*", re.M
)
# Python that knows it is tested: it reads or patches what runs its tests, or what they leave behind.
_LOOKS_AT_TESTS: Final = lazy_pattern(
    rf"^.*(?:{re.escape(BUILD_FOLDER)}|\bPYTEST_\w+|\b_pytest\b|\bpytest_plugins\b|"
    r"[\"'](?:pytest|unittest|_pytest)\b[^\n]*\bsys\.modules\b|\bsys\.modules\[[\"'](?:pytest|unittest|_py)|"
    r"\b(?:unittest|pytest)(?:\.\w+)+\s*=(?!=)|\bsetattr\(\s*(?:unittest|pytest)\b).*$",
    re.M,
)
# C and C++ that gives the macros of a framework another meaning.
_TEST_MACRO: Final = lazy_pattern(
    r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+"
    r"(?:NDEBUG|(?:EXPECT|ASSERT)_[A-Z_]+|REQUIRE\w*|TEST(?:_[FP]|_CASE)?|GTEST_\w+)\b.*$",
    re.M,
)


def is_runner_file(path: str) -> bool:
    """True if the whole file is about how tests are run."""
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


_FOLDERS: Final = frozenset({"test", "tests", "__tests__", "unittests"})
_NAMES: Final = lazy_pattern(
    r"conftest\.py|test_.*\.py|.*_tests?\.py|tests?\.(?:py|[cm]?[jt]sx?)|"  # pytest, unittest, Django, AVA
    r"(?:test_.*|.*_(?:unit)?tests?|tests?|.*[a-z]Tests?)\.(?:c|cc|cpp|cxx)|"
    r".*_test\.go|.*\.(?:test|spec)(?:-d)?\.[cm]?[jt]sx?|.*_spec\.rb|.*_test\.exs|.*\.bats"
)
# Perl's, and those of .NET, whose names alone are other files', too.
_PLACES: Final = lazy_pattern(r"(?:.*/)?t/(?:.*/)?[^/]+\.t|(?:.*/)?[^/]*Tests?/(?:.*/)?[^/]+\.(?:cs|fs|vb)")


def is_test_file(path: str) -> bool:
    """True if a path belongs to a test, by the naming conventions of the runners.

    All that lies in a folder of tests counts: helpers and data decide what a test says, too.
    """
    *folders, name = path.split("/")
    return not _FOLDERS.isdisjoint(folders) or bool(_NAMES.fullmatch(name) or _PLACES.fullmatch(path))


def untouched_gate(locked: Mapping[str, str], since: Changes) -> Gate:
    """Reject a change of tests, or of how they run, since they were locked.

    `locked`: files and their SHA-256 in hexadecimal. `since`: the changes of the trial at that moment.
    The gate restores test files and the runners' own files. In other configuration it restores the lines that
    say how tests are run, such as `add_test` in CMakeLists.txt. Code is left to the model.
    """

    async def judge(run: Run, changes: Changes) -> Verdict:
        way_back = tuple(_way_back(since, changes))
        whole = tuple(change for change in way_back if change.path in locked or _is_guarded(change.path))
        settings = [_only_settings(each) for each in way_back if each not in whole and _runs_otherwise(each)]
        code = [each for each in settings if _is_code(each.path)]
        wanted = (*whole, *(each for each in settings if each not in code))
        put_back = await _put_back(run, wanted)
        open_ = [change.path for change in wanted if change not in put_back]
        open_ += [path for path in await find_unlocked(run, locked) if path not in open_]
        if not (wanted or open_ or code):
            return Verdict(True, "", "untouched")
        return Verdict(
            False, _letter([_place(each) for each in put_back], open_, map(_place, code)), "untouched"
        )

    return judge


def _is_guarded(path: str) -> bool:
    return is_test_file(path) or is_runner_file(path)


def _way_back(since: Changes, now: Changes) -> Iterator[Change]:
    """Each file that is not as it was, from what it is to what it was."""
    then, present = ({change.path: change for change in changes} for changes in (since, now))
    for path in sorted({*then, *present}):
        old, new = then.get(path), present.get(path)
        # What `now` does not name is as in the person's tree, which every change begins from.
        is_ = new or (old.inverse if old else None)
        was = old or (new.inverse if new else None)
        if is_ and was and (is_.after, is_.mode) != (was.after, was.mode):
            yield Change(path, is_.after, was.after, was.mode, is_.mode)


def _runs_otherwise(change: Change) -> bool:
    return bool(runner_settings(change.path, change.before) != runner_settings(change.path, change.after))


def _only_settings(change: Change) -> Change:
    """The part of a way back that restores how tests are run; all of it where no part does."""

    def says(part: Change) -> Any:
        return runner_settings(part.path, part.after)

    now = runner_settings(change.path, change.before)
    parts = range(len(split_hunks(change)))
    part = keep_hunks(change, [number for number in parts if says(keep_hunks(change, [number])) != now])
    return part if says(part) == says(change) else change


def _is_code(path: str) -> bool:
    return splitext(path)[1].lower() in {".py", *CPP_ENDINGS}


def _place(change: Change) -> str:
    """The first line of a file that a way back touches, as `path:line`; the path where there are no lines."""
    lines = touched_lines(change.inverse)
    return f"{change.path}:{min(lines)}" if lines and change.before is not None else change.path


async def _put_back(run: Run, way_back: Changes) -> Changes:
    """Write what was; the changes for which that worked."""
    done: list[Change] = []
    for change in way_back:
        try:
            await run.workspace.apply((change,))
        except TreeError:
            continue
        done.append(change)
    return tuple(done)


async def find_unlocked(run: Run, locked: Mapping[str, str]) -> list[str]:
    """The locked files (with their SHA-256) that are not in the run's tree as they were locked."""
    return [path for path, digest in locked.items() if not await _is_locked(run, path, digest)]


async def _is_locked(run: Run, path: str, digest: str) -> bool:
    try:
        return sha256(await run.workspace.read(path)).hexdigest() == digest
    except TreeError:
        return False


def _letter(put_back: Sequence[str], left: Sequence[str], code: Iterable[str]) -> str:
    words = []
    if put_back:
        words.append(f"You changed {', '.join(put_back)}, which was put back as it was.")
    words.append("Tests and how they run are locked: make them pass by changing other lines only.")
    if left:
        words.append(f"{', '.join(left)} is not as it was locked. Put it back.")
    if tampering := ", ".join(code):
        words.append(f"You changed how tests are run or counted in {tampering}. Put that back.")
    return " ".join(words)
