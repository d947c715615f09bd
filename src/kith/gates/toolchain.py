"""The value that all ecosystems share: the commands of a project as data, for all of its tests or some."""

import os
import posixpath
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kith.core.values import Ran
from kith.gates.reports import CaseResult, ProjectPaths

Read = Callable[[str], bytes | None]
# Debian has no `python`, Windows no `python3`; an environment of the project's own has both.
PYTHON: Final = "python" if os.name == "nt" else "python3"
# CMake's, out of the sources, and everybody's reports. It ignores itself, so it is in nobody's change.
BUILD_FOLDER: Final = ".kith-build"
_COMPOUND: Final = re.compile(r"[;&|<>$`()\n]")

Reports = Mapping[str, bytes]  # by their names in the folder of reports


class Program(Struct, frozen=True):
    """A test program that is started once more for its report: the first run has judged it.

    `reporting` are the options that make it leave one: the last of them goes before the file's name.
    """

    test: str
    command: tuple[str, ...]
    folder: str
    reporting: tuple[str, ...] = ()

    @property
    def report(self) -> str:
        return f"{posixpath.basename(plain_program(self.command[0]))}.xml"


def plain_program(program: str) -> str:
    """A program's path as on Linux."""
    return program.replace("\\", "/").removesuffix(".exe")


class Runner(Struct, frozen=True):
    """One way to run tests: how they report, how that is read, how some of them are chosen.

    The defaults are those of a command of any kind, which has an exit code and what it prints.

    To report: `report` makes of a line that starts tests one that leaves a report. `in_folder` are options of
    that line below the top. `measure` gives the lines that measure coverage as well, and `unmeasured` says
    why they did not. `always_reports`: a report is there even if no test ran.

    To read: `read` finds the tests in the reports and in what was printed. Where it is None or gives None,
    every known form of report counts. `wants` names sources that it has to see, too. `again` names programs
    whose cases only a second run tells, and `sources` the files of tests that a build tells. `printed` gives
    the output back that went into a report. `found_none`: a run found no test. `by_file`: ids tell a test's
    file. `dotted`: ids are dotted names of modules.

    To narrow: `choose` gives the line for some tests, by their ids or files. `direct` gives the toolchain for
    files that its command may not collect. `compiles`: it builds its tests first.
    """

    name: str
    report: Callable[[str], str] | None = None
    in_folder: str = ""
    read: Callable[[Reports, ProjectPaths, Ran], tuple[CaseResult, ...] | None] | None = None
    choose: Callable[[str, tuple[str, ...]], str] | None = None
    direct: Callable[["Toolchain", Sequence[str]], "Toolchain"] | None = None
    measure: Callable[["Toolchain"], str] | None = None
    unmeasured: str = ""
    found_none: Callable[[Ran], bool] | None = None
    printed: Callable[[Reports], str] | None = None
    wants: Callable[[Reports, ProjectPaths], Sequence[str]] | None = None
    again: Callable[["Toolchain", Reports, Ran], Sequence[Program]] | None = None
    sources: Callable[[Reports, ProjectPaths], Collection[str]] | None = None
    always_reports: bool = False
    by_file: bool = False
    dotted: bool = False
    compiles: bool = False


COMMAND: Final = Runner("command")


class Toolchain(Struct, frozen=True):
    """The commands that build and test a project: shell lines for its folder, which is mostly the tree's top.

    `why` is the reason for choosing it. `run` starts the tests of a built tree. Where it ends with
    `targets`, these words are replaced when some tests are chosen. `reports` are the files in JUnit's format
    that a run writes, as patterns of find(1). `env` are variables for all of its lines; a relative path in
    one is relative to the top. `coverage`: the options of its coverage tool, "" where none is known. `clean`
    removes what was built before, where the commands may miss a change. `first` and `last` run around the
    tests and have exit codes of their own: linters, builds. `installed`: modules that this way finds where
    they are installed, which must be in this tree: a copy elsewhere has no change in it. `folder` is the
    project's own below the top, "" for the top; results name tests and files from the top.

    To explain missing modules: `own` are the project's top modules, `generated` those that exist only
    after its own build. `requires` are the distributions in its manifests, `absent` its submodules that
    were not fetched (folder, address).
    """

    name: str
    language: str
    why: str
    run: str
    runner: Runner = COMMAND
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
        return bool(self.configure or self.build) or self.runner.compiles

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
        return f"{self.folder.replace('/', '.')}." if self.runner.dotted else f"{self.folder}/"

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


class Ecosystem(Struct, frozen=True):
    """Projects of one kind, as a feature knows them.

    `find` gives the ways to their tests, the most promising first. It gets the paths of all files, and can
    read those at the top that match `clues`. `asked`: always; `late`, where no Makefile tests; or `last`,
    where nothing else has tests.
    """

    find: Callable[[Collection[str], Read], Iterable[Toolchain]]
    clues: str = ""
    asked: Literal["always", "late", "last"] = "late"


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
    return [path for path in ending_with(files, endings) if pattern.fullmatch(path)]


def ending_with(files: Collection[str], endings: tuple[str, ...]) -> Iterator[str]:
    """The paths with one of these endings: parts of names with a dot, or a slash and a whole name.

    A frozen set is sorted by the suffixes of its names once for all questions: a tree has tens of thousands.
    """
    groups = _by_suffix(files) if isinstance(files, frozenset) else {}
    asked = [groups.get(each, ()) for each in {_suffix(each) for each in endings}] if groups else [files]
    return (path for group in asked for path in group if path.endswith(endings))


@lru_cache(maxsize=4)
def _by_suffix(files: frozenset[str]) -> Mapping[str, Collection[str]]:
    groups = defaultdict[str, list[str]](list)
    for path in files:
        groups[_suffix(path)].append(path)
    return groups


def _suffix(path: str) -> str:
    name = path[path.rfind("/") + 1 :]
    return name[name.rfind(".") :] if "." in name else ""


def read_text(read: Read, path: str) -> str:
    """A file as text, "" for one that is not there."""
    return (read(path) or b"").decode("utf-8", "replace")


# A toolchain that runs some of its tests only, with a command that a person could type.


def narrow(toolchain: Toolchain, only: Sequence[str]) -> Toolchain:
    """The same toolchain for the tests `only` names: ids of earlier reports, or files of tests.

    A runner that cannot choose (or not by file) runs more than was asked, never less.
    """
    choose, only = toolchain.runner.choose, toolchain.names_here(only)
    if not choose or not only:
        return toolchain
    whole = toolchain.run.removesuffix(f" {toolchain.targets}") if toolchain.targets else toolchain.run
    return replace(toolchain, run=choose(whole, only), targets="", last=())


def hand_on(line: str, options: str) -> str:
    """Options for what a script starts; npm wants a mark before them, and only once."""
    return f"{line} -- {options}" if line.startswith("npm ") and " -- " not in line else f"{line} {options}"
