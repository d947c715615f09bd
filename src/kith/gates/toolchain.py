"""The value that all ecosystems share: the commands of a project as data, for all of its tests or some."""

import os
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.gates.js_tests import is_js, pattern_of, selects_all

Read = Callable[[str], bytes | None]
Runner = Literal[
    "pytest",
    "unittest",
    "django",
    "ctest",
    "program",
    "cargo",
    "go",
    "node",
    "jest",
    "vitest",
    "mocha",
    "junit",
    "phpunit",
    "rspec",
    "command",
]

# Debian has no `python`, Windows no `python3`; an environment of the project's own has both.
PYTHON: Final = "python" if os.name == "nt" else "python3"
# CMake's, out of the sources, and everybody's reports. It ignores itself, so it is in nobody's change.
BUILD_FOLDER: Final = ".kith-build"
OF_UNITTEST: Final[tuple[Runner, ...]] = ("unittest", "django")  # whose ids are dotted names of modules
_COMPOUND: Final = re.compile(r"[;&|<>$`()\n]")


class Toolchain(Struct, frozen=True):
    """The commands that build and test a project: shell lines for its folder, which is mostly the tree's top.

    `why` is the reason for choosing it. `run` starts the tests of a built tree. Where it ends with
    `targets`, these words are replaced when some tests are chosen. `runner` decides how tests write a
    report and how some of them are chosen. A "program" is one test program of C or C++, "django" a script
    that hands its words on to Django. A "command" has an exit code and what it prints. `reports` are the
    files in JUnit's format that a run writes, as patterns of find(1). `env` are variables for all of its
    lines; a relative path in one is relative to the top. `coverage`: the options of its coverage tool, ""
    where none is known. `clean` removes what was built before, where the commands may miss a change. `first`
    and `last` run around the tests and have exit codes of their own: linters, builds. `installed`: modules
    that this way finds where they are installed, which must be in this tree: a copy elsewhere has no change
    in it.
    `folder` is the project's own below the top, "" for the top; results name tests and files from the top.

    To explain missing modules: `own` are the project's top modules, `generated` those that exist only
    after its own build. `requires` are the distributions in its manifests, `absent` its submodules that
    were not fetched (folder, address).
    """

    name: str
    language: str
    why: str
    run: str
    runner: Runner = "command"
    configure: str = ""
    build: str = ""
    coverage: str = ""
    env: tuple[tuple[str, str], ...] = ()
    targets: str = ""
    own: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    absent: tuple[tuple[str, str], ...] = ()
    reports: tuple[str, ...] = ()
    installed: tuple[str, ...] = ()
    clean: str = ""
    first: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    folder: str = ""

    @property
    def compiles(self) -> bool:
        """True if its tests are built first, so that a tree with an earlier build saves time."""
        return bool(self.configure or self.build) or self.runner in ("ctest", "cargo", "go")

    @property
    def here(self) -> str:
        """The whole command, from the sources to an exit code, in its folder."""
        line = " && ".join(line for line in (self.configure, self.build, self.run) if line)
        return with_env(line, self.env)

    @property
    def test(self) -> str:
        """The same, as a person would type it at the top."""
        return self.from_top(self.here)

    def from_top(self, line: str) -> str:
        """A line for its folder, as a person would type it at the top."""
        return f"cd {quote_folder(self.folder)} && {line}" if self.folder else line

    @property
    def prefix(self) -> str:
        """The start of its tests' names at the top: those of unittest are names of modules."""
        if not self.folder:
            return ""
        return f"{self.folder.replace('/', '.')}." if self.runner in OF_UNITTEST else f"{self.folder}/"

    def holds(self, path: str) -> bool:
        """True if a file is in its folder."""
        return not self.folder or path.startswith(f"{self.folder}/")

    def names_here(self, names: Sequence[str]) -> tuple[str, ...]:
        """Tests and files as it knows them itself, without those of other folders."""
        starts = (self.prefix, f"{self.folder}/" if self.folder else "")
        return tuple(
            name.removeprefix(start)
            for name in names
            if (start := next((each for each in starts if name.startswith(each)), None)) is not None
        )


# A project in a folder often has an environment there; the one at the top is on PATH already.
_OWN_PYTHON: Final = (
    "for own in .venv venv env; do if [ -r $own/pyvenv.cfg ]; then "
    'export VIRTUAL_ENV="$PWD/$own" PATH="$PWD/$own/bin:$PATH"; break; fi; done'
)


def enter(folder: str) -> str:
    """The lines that begin a script for a folder, with its own environment; "" for the top."""
    return f"cd {shlex.quote(f'./{folder}')} || exit\n{_OWN_PYTHON}\n" if folder else ""


def quote_folder(folder: str) -> str:
    """A folder as a word of the shell that is no option."""
    return shlex.quote(f"./{folder}" if folder.startswith("-") else folder)


def with_env(line: str, env: tuple[tuple[str, str], ...]) -> str:
    """`line` with variables, as a person would type it."""
    pairs = " ".join(f"{name}={shlex.quote(value)}" for name, value in env)
    if not pairs:
        return line
    return f"export {pairs}; {line}" if _COMPOUND.search(line) else f"{pairs} {line}"


def matching(files: Collection[str], endings: tuple[str, ...], pattern: re.Pattern[str]) -> list[str]:
    """The paths with such an ending that match as a whole; few of many files get as far as the pattern."""
    return [path for path in files if path.endswith(endings) and pattern.fullmatch(path)]


def read_text(read: Read, path: str) -> str:
    """A file as text, "" for one that is not there."""
    return (read(path) or b"").decode("utf-8", "replace")


# A toolchain that runs some of its tests only, with a command that a person could type.

_GO_TEST: Final = re.compile(r"(.+?)\.((?:Test|Fuzz|Example)\w*)(?:/.*)?")


def narrow(toolchain: Toolchain, only: Sequence[str]) -> Toolchain:
    """The same toolchain for the tests `only` names: ids of earlier reports, or files of tests.

    A runner that cannot choose (or not by file) runs more than was asked, never less.
    """
    choose, only = _CHOOSERS.get(toolchain.runner), toolchain.names_here(only)
    if not choose or not only:
        return toolchain
    whole = toolchain.run.removesuffix(f" {toolchain.targets}") if toolchain.targets else toolchain.run
    return replace(toolchain, run=choose(whole, only), targets="", last=())


def directly(toolchain: Toolchain, files: Sequence[str]) -> Toolchain | None:
    """The same runner on files that its command may not collect; None where it takes no files."""
    if toolchain.runner == "pytest":
        return narrow(toolchain, files)
    if toolchain.runner == "unittest":
        named = shlex.join(toolchain.names_here(files))
        return replace(toolchain, run=f"{PYTHON} -m unittest {named}", targets="")
    return None


def hand_on(line: str, options: str) -> str:
    """Options for what a script starts; npm wants a mark before them, and only once."""
    return f"{line} -- {options}" if line.startswith("npm ") and " -- " not in line else f"{line} {options}"


def _pytest(line: str, only: tuple[str, ...]) -> str:
    return f"{line} {shlex.join(only)}"


def _unittest(line: str, only: tuple[str, ...]) -> str:
    """`-k` takes patterns over the dotted names; the start folder need not be a part of them."""
    patterns = (f"*{test[:-3].rpartition('/')[2]}.*" if test.endswith(".py") else f"*{test}" for test in only)
    return " ".join([line, *(f"-k {shlex.quote(pattern)}" for pattern in patterns)])


def _ctest(line: str, only: tuple[str, ...]) -> str:
    """An id `test::case` names a googletest or Catch2 case inside a test; only googletest's can be chosen.

    A test may itself have such a name, so both readings are chosen.
    """
    if any("/" in test and re.search(r"\.(?:c|cc|cpp|cxx|h|hpp)$", test) for test in only):
        return line
    pairs = [test.partition("::") for test in only]
    read = [name for name, _, case in pairs for name in (name, f"{name}::{case}" if case else name)]
    names = "|".join(dict.fromkeys(map(_escape, read)))
    cases = [case for _, _, case in pairs if case]
    chosen = len(cases) == len(pairs) and all(re.fullmatch(r"[\w/]+\.[\w/]+", case) for case in cases)
    prefix = f"GTEST_FILTER={shlex.quote(':'.join(cases))} " if chosen else ""
    return f"{prefix}{line} -R {shlex.quote(f'^({names})$')}"


def _escape(text: str) -> str:
    """For the regular expressions of CMake, Go and Node, which agree on these characters."""
    return re.sub(r"([.^$*+?()\[\]{}|\\])", r"\\\1", text)


def _cargo(line: str, only: tuple[str, ...]) -> str:
    if any(test.endswith(".rs") for test in only):
        return line
    names = (re.sub(r" \(\d+\)$", "", test) for test in only)  # a name is chosen in all programs
    return f"{line} -- --exact {shlex.join(dict.fromkeys(names))}"


def _go(line: str, only: tuple[str, ...]) -> str:
    """An id is `package.TestName/subtest`; Go chooses packages and top tests."""
    found = [part for test in only if (part := _GO_TEST.fullmatch(test))]
    if len(found) != len(only):
        return line
    names = "|".join(dict.fromkeys(part[2] for part in found))
    packages = shlex.join(dict.fromkeys(part[1] for part in found))
    return f"{re.sub(r' ([.]/[.]{3}|[$][(].*)$', ' ', line)}{packages} -run {shlex.quote(f'^({names})$')}"


def _jest(line: str, only: tuple[str, ...]) -> str:
    """An id is `path::name`; `-t` takes names of all files, and of a table all rows.

    Where one of them is a whole file, or has a name that selects all tests, the files of all of them run.
    """
    named = [test.partition("::") if is_js(test.partition("::")[0]) else ("", "", test) for test in only]
    if any(path and selects_all(name) for path, _, name in named):
        paths = list(dict.fromkeys(path for path, _, _ in named))
        return hand_on(line, shlex.join(paths)) if all(paths) else line
    patterns = "|".join(dict.fromkeys(pattern_of(name) for _, _, name in named))
    return hand_on(line, f"-t {shlex.quote(f'^({patterns})$')}")


def _mocha(line: str, only: tuple[str, ...]) -> str:
    """Files are added to those that a script names, so only names can be chosen."""
    named = [test.partition("::") if is_js(test.partition("::")[0]) else ("", "", test) for test in only]
    if any(is_js(name) or (path and selects_all(name)) for path, _, name in named):
        return line
    patterns = "|".join(dict.fromkeys(pattern_of(name) for _, _, name in named))
    return hand_on(line, f"-g {shlex.quote(f'^({patterns})$')}")


_CHOOSERS: Final[dict[Runner, Callable[[str, tuple[str, ...]], str]]] = {
    "pytest": _pytest,
    **dict.fromkeys(OF_UNITTEST, _unittest),
    "ctest": _ctest,
    "cargo": _cargo,
    "go": _go,
    "jest": _jest,
    "vitest": _jest,
    "mocha": _mocha,
}
