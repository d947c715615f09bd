"""The code to be tested, and where its tests belong: the file to write, those beside it, the runner."""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from posixpath import basename, commonprefix, dirname, splitext
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kith.agent.ecosystems import ecosystems
from kith.context.symbols import find_symbols
from kith.core.errors import TreeError, UsageError
from kith.core.values import Change
from kith.core.workspace import ShellCommand, Trial, Workspace
from kith.edits import split_hunks
from kith.features.testgen.mutants import Lines, can_mutate
from kith.gates.runners.python import PYTEST, UNITTEST
from kith.gates.toolchain import PYTHON, Toolchain
from kith.gates.toolchains import choose_clues, find_toolchains
from kith.gates.untouched import is_test_file


class CodeUnderTest(Struct, frozen=True):
    """A file as it is, the lines of it that matter (() for all), and their names ("" for the whole file)."""

    path: str
    source: bytes
    lines: Lines = ()
    name: str = ""

    @property
    def text(self) -> str:
        return self.source.decode("utf-8", "replace")

    @property
    def label(self) -> str:
        """The name that a person would use."""
        return f"{self.path}::{self.name}" if self.name else self.path

    def holds(self, line: int) -> bool:
        return not self.lines or any(first <= line <= last for first, last in self.lines)


async def find_target(tree: Workspace, words: str) -> CodeUnderTest:
    """The target that `file`, `file::function` or `file:Class.method` means. Raises UsageError."""
    path, name = _split(words)
    try:
        source = await tree.read(path)
    except TreeError as error:
        raise UsageError(f"There is nothing to test at {path!r}: {error}.") from error
    if not can_mutate(path):
        raise UsageError(
            f"{path} is in a language that kith cannot judge tests of; it knows Python, C and C++."
        )
    if not name:
        return CodeUnderTest(path, source)
    wanted = name.replace("::", ".")
    symbols = find_symbols(path, source.decode("utf-8", "replace"))
    known = {symbol.name.replace("::", "."): symbol for symbol in symbols}
    found = [symbol for key, symbol in known.items() if key == wanted or key.endswith(f".{wanted}")]
    if not found:
        close = difflib.get_close_matches(wanted, known, 1)
        hint = f"; did you mean {close[0]}?" if close else f"; there are: {', '.join(list(known)[:8])}."
        raise UsageError(f"{path} defines no {name!r}{hint}")
    return CodeUnderTest(path, source, tuple((symbol.first, symbol.last) for symbol in found), name)


def target_of_change(change: Change) -> CodeUnderTest | None:
    """The lines that a change added or changed; None where there are none that could be tested."""
    if change.after is None or not can_mutate(change.path):
        return None
    lines = tuple((row, row) for row in _new_rows(change))
    symbols = find_symbols(change.path, change.after.decode("utf-8", "replace"))
    touched = [each.name for each in symbols if any(each.first <= row <= each.last for row, _ in lines)]
    inner = [name for name in touched if not any(other.startswith(f"{name}.") for other in touched)]
    return CodeUnderTest(change.path, change.after, lines, ", ".join(dict.fromkeys(inner))) if lines else None


def _new_rows(change: Change) -> Iterator[int]:
    for hunk in split_hunks(change):
        row = hunk.new_start or 1
        for line in hunk.lines:
            if line.startswith("+"):
                yield row
            row += line[:1] in ("+", " ")


def _split(words: str) -> tuple[str, str]:
    """`file::name`, `file:name`; a file's own name may hold no colon here."""
    path, _, name = words.partition(":")
    return path.removeprefix("./"), name.lstrip(":")


# Find where a target's tests belong: the file to write, the present tests beside it, the runner.

_LOOKED_INTO: Final = 60  # files of tests, for those that speak of the target
_LANGUAGES: Final = {".py": ("Python",)}
_COMPILED: Final = ("C++", "C")
_PYTHON_LINE: Final = re.compile(
    r"(?P<variables>(?:\w+=[\w./:-]* )*)python3?(?P<rest> -m (?P<runner>pytest|unittest)\b[^&|;<>`$\n]*)"
)


class TestLocation(Struct, frozen=True):
    """The file of tests to write, the toolchain that runs it, and an example of present tests.

    `related` are files of tests that speak of the target, the one most like it first.
    """

    out: str
    toolchain: Toolchain
    related: tuple[str, ...] = ()
    example: str = ""


async def find_place(
    tree: Workspace, target: CodeUnderTest, out: str = "", commands: Sequence[str] = ()
) -> TestLocation:
    """Decide where tests go and how they run. Raises UsageError when nobody could run them.

    `out` and `commands` are what the person named; "" and () leave it to the project's own ways.
    """
    files = await tree.files()
    python = target.path.endswith(".py")
    tests = [path for path in files if is_test_file(path) and path.endswith(".py") == python]
    related = await _related(tree, target, tests)
    out = out or _choose_out(target, files, tests, related)
    toolchain = await _toolchain(tree, target, out, files, commands)
    example = (*(path for path in related if path != out), *tests)[:1]
    return TestLocation(out, toolchain, related, await _text(tree, example[0]) if example else "")


async def runnable(trial: Trial, place: TestLocation) -> TestLocation:
    """The same place; where nothing was tested before and pytest is not installed, unittest's."""
    if place.toolchain.runner is not PYTEST or place.example:
        return place
    if not (await trial.check(ShellCommand(f"{PYTHON} -c 'import pytest'"))).code:
        return place
    files = sorted({*await trial.files(), place.out})
    found = find_toolchains(files, {place.out: b"import unittest\n"}.get, ecosystems())
    own = next((each for each in found if each.runner is UNITTEST), place.toolchain)
    return replace(place, toolchain=own)


async def find_tests(tree: Workspace, target: CodeUnderTest) -> tuple[str, ...]:
    """The present files of tests that speak of a target."""
    files = await tree.files()
    return await _related(tree, target, [each for each in files if is_test_file(each)])


async def _toolchain(
    tree: Workspace, target: CodeUnderTest, out: str, files: Collection[str], commands: Sequence[str]
) -> Toolchain:
    planned = sorted({*files, out})  # a first file of tests makes a project one that pytest can test
    contents: dict[str, bytes] = {}
    for path in choose_clues(planned, ecosystems()):
        contents[path] = (await _text(tree, path)).encode() if path in files else b""
    found = find_toolchains(planned, contents.get, ecosystems())
    if commands:
        return _named(" && ".join(commands), found)
    languages = _LANGUAGES.get(splitext(target.path)[1], _COMPILED)
    own = [each for each in found if each.holds(out)]
    fitting = [each for each in own if each.language in languages] or [
        each for each in own if not each.language
    ]
    if not fitting:
        raise UsageError(f"Nothing here says how tests of {target.path} are run; name it: --check CMD.")
    return fitting[0]


def _named(line: str, found: Sequence[Toolchain]) -> Toolchain:
    """A person's own command; what pytest and unittest say of each test is read all the same."""
    plain = _PYTHON_LINE.fullmatch(line)
    own = next((each for each in found if plain and each.runner.name == plain["runner"]), None)
    if plain and own:
        return replace(own, why="named", folder="", run=f"{plain['variables']}{PYTHON}{plain['rest']}")
    return Toolchain(line, "", "named", line)


async def _related(tree: Workspace, target: CodeUnderTest, tests: Sequence[str]) -> tuple[str, ...]:
    """Those that name the target's module or header; the one called like it is first."""
    stem = splitext(basename(target.path))[0]
    likely = sorted(tests, key=lambda path: (stem not in basename(path), path))[:_LOOKED_INTO]
    word = re.compile(rf"\b{re.escape(stem)}\b")
    return tuple([path for path in likely if stem in basename(path) or word.search(await _text(tree, path))])


def _choose_out(
    target: CodeUnderTest, files: Collection[str], tests: Sequence[str], related: Sequence[str]
) -> str:
    """A new file beside the present tests; in C++ a present one, since the build has to know of it."""
    stem = splitext(basename(target.path))[0]
    if not target.path.endswith(".py"):
        if related:
            return related[0]
        raise UsageError(f"No file of tests speaks of {target.path}; name the one to write: --out FILE.")
    folder = _folder(target.path, related or tests)
    names = Counter(basename(path).endswith("_test.py") for path in tests)
    pattern = "{}_test" if names[True] > names[False] else "test_{}"
    for more in ("", "_more", *(f"_more{number}" for number in range(2, 100))):
        path = f"{folder}/{pattern.format(stem + more)}.py".lstrip("/")
        if path not in files:
            return path
    raise UsageError(
        f"There are too many files of tests for {target.path}; name the one to write: --out FILE."
    )


def _folder(path: str, tests: Sequence[str]) -> str:
    """The folder of tests nearest to the file, of several the fullest; without any, `tests` at the top."""
    named = Counter(dirname(test) for test in tests if re.match(r"test_|.*_tests?\.", basename(test)))
    near = {folder: len(commonprefix([folder.split("/"), path.split("/")])) for folder in named}
    return max(sorted(named), key=lambda folder: (near[folder], named[folder]), default="tests")


async def _text(tree: Workspace, path: str) -> str:
    try:
        return (await tree.read(path)).decode("utf-8", "replace")
    except TreeError:
        return ""
