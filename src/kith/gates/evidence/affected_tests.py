"""Find the tests that reach a change, by the closure of imports and includes."""

import ast
import asyncio
import re
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from posixpath import basename, dirname, splitext
from typing import Any, Final

from msgspec import Struct

from kith.context.imports import Resolver, find_imports, imports_of_module
from kith.context.source import CPP_ENDINGS, NO_CODE, language_of
from kith.context.symbols import PYTHON_ENDINGS
from kith.core.patterns import lazy_pattern
from kith.core.values import Changes
from kith.core.workspace import Workspace
from kith.gates.reports import SuiteReport, file_of
from kith.gates.toolchains.manifests import parse_object
from kith.gates.toolchains.python import test_modules
from kith.gates.toolchains.toolchain import Runner, Toolchain
from kith.gates.untouched import is_test_file

_MOST_READ: Final = 4_000  # sources whose imports are followed; in a larger tree only names are looked for
_MOST_BYTES: Final = 1_000_000  # of one source file
_LOADS_ALL: Final = frozenset({"conftest.py", "CMakeLists.txt", "Makefile", "GNUmakefile", "makefile"})
_PACKAGE: Final = "package.json"
_OF_FOLDERS: Final = frozenset({"__init__", "index", "mod"})  # sources that stand for their folder
_BY_FILE: Final[frozenset[Runner]] = frozenset({"pytest", "unittest"})  # their ids tell a test's file

IsTest = Callable[[str], bool]


class Reach(Struct, frozen=True, dict=True):
    """The files of tests that reach a change. `whole`: it concerns how all of them are built or run."""

    tests: frozenset[str] = frozenset()
    whole: bool = False

    def __bool__(self) -> bool:
        return self.whole or bool(self.tests)

    def covers(self, id: str, runner: Runner) -> bool:
        """True if a test reaches the change; where its id does not tell its file, if any test does."""
        if self.whole or runner not in _BY_FILE:
            return bool(self)
        return file_of(id) in self.tests or not self._modules.isdisjoint(modules_of(id))

    def inside(self, toolchain: Toolchain, changes: Changes) -> "Reach":
        """The part that a project's own tests can have: it runs none of another folder."""
        whole = self.whole and any(toolchain.holds(change.path) for change in changes)
        return Reach(frozenset(filter(toolchain.holds, self.tests)), whole)

    @cached_property
    def _modules(self) -> frozenset[str]:
        """The files as modules, by each name that they may have, wherever unittest's discovery began."""
        return frozenset(module for path in self.tests for module in _modules_in(path))


def _modules_in(path: str) -> Iterator[str]:
    parts = splitext(path)[0].split("/")
    return (".".join(parts[at:]) for at in range(len(parts)))


def modules_of(id: str) -> Iterator[str]:
    """The possible modules in unittest's `folder.module.Class.test`."""
    while "." in id:
        id = id.rpartition(".")[0]
        yield id


def holders_of(id: str) -> Iterator[str]:
    """The names in a report that may stand for a test: itself, its file, its module."""
    yield from (id, file_of(id))
    yield from modules_of(id)


async def read_reach(home: Workspace, changes: Changes, is_test: IsTest = is_test_file) -> Reach:
    """The tests of the tree `home` that reach a change of it."""
    gone = {change.path for change in changes}
    paths = [path for path in choose_sources(await home.files()) if path not in gone]
    contents = await home.read_many(paths)
    contents |= {change.path: change.after for change in changes if change.after is not None}
    return await asyncio.to_thread(find_reach, contents, changes, is_test)


def affected_files(toolchain: Toolchain, before: SuiteReport, reach: Reach, changes: Changes) -> list[str]:
    """The files of tests that reach the change, for runners that can be told files.

    What the command left out before, such as benchmarks outside `testpaths`, stays out; a run that was
    stopped does not tell what that is.
    """
    if toolchain.runner not in _BY_FILE or reach.whole:
        return []
    gone = {change.path for change in changes if change.after is None}
    held = {name for case in before.cases for name in holders_of(case.id)}
    ran = {path for path in reach.tests if not held.isdisjoint((path, *_modules_in(path)))}
    meant = reach.tests if before.ran.timed_out else reach.tests & {change.path for change in changes}
    return sorted((ran | set(test_modules(meant))) - gone)


def seconds_in(report: SuiteReport, files: Sequence[str]) -> float:
    """Sum the seconds of the tests in these files."""
    inside = tests_in(report.by_id, files)
    return sum(case.seconds for case in report.cases if case.id in inside)


def tests_in(ids: Iterable[str], files: Iterable[str]) -> frozenset[str]:
    """Those of pytest's or unittest's tests that are in the files."""
    reach = Reach(frozenset(files))
    return frozenset(id for id in ids if reach.covers(id, "pytest"))


def choose_sources(files: Collection[str]) -> list[str]:
    """The files whose contents `find_reach` needs: all code, or only tests where there is very much."""
    sources = sorted(path for path in files if _is_code(path) or basename(path) == _PACKAGE)
    return sources if len(sources) <= _MOST_READ else [path for path in sources if is_test_file(path)]


def find_reach(contents: Mapping[str, bytes], changes: Changes, is_test: IsTest = is_test_file) -> Reach:
    """The tests that import or include a changed file, also through others, or name one that is no code.

    `contents` are the sources of the tree with the change in it (`choose_sources`).
    """
    changed = {change.path for change in changes}
    if any(basename(path) in _LOADS_ALL or path.endswith(".cmake") for path in changed):
        return Reach(whole=True)
    texts = {path: _text(data) for path, data in contents.items() if _is_code(path)}
    if all(is_test(path) for path in texts.keys() - changed):
        return Reach(_naming(changed, {path: text for path, text in texts.items() if is_test(path)}))
    packages = {
        path: parse_object(_text(data)) for path, data in contents.items() if basename(path) == _PACKAGE
    }
    mains = {path.removesuffix(_PACKAGE): _main_of(package) for path, package in packages.items()}
    users = _users({**dict.fromkeys(changed, ""), **texts}, mains, is_test)
    data = {path for path in changed if not _is_code(path)}
    reached = _closure({*changed, *_naming(data, texts)}, users)
    return Reach(frozenset(path for path in reached if is_test(path) and _is_code(path)))


def _is_code(path: str) -> bool:
    language = language_of(path)
    return bool(language) and language not in NO_CODE


def _naming(paths: Collection[str], texts: Mapping[str, str]) -> frozenset[str]:
    """The sources that name one of these files: code by its module's name, anything else by the file's."""
    names = {_module_name(path) if _is_code(path) else basename(path) for path in paths}
    if not names:
        return frozenset()
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(names)))})(?!\w)")
    return frozenset(path for path, text in texts.items() if pattern.search(text))


def _module_name(path: str) -> str:
    """The last part of the name under which others know a source; a package's is its folder's."""
    name = splitext(basename(path))[0]
    return basename(dirname(path)) or name if name in _OF_FOLDERS else name


def _main_of(package: Mapping[str, Any]) -> str:
    """The file of a package.json that an import of its folder means."""
    exports = package.get("exports")
    exports = exports.get(".", exports) if isinstance(exports, dict) else exports
    if isinstance(exports, dict):
        exports = exports.get("default")
    return next((main for main in (package.get("main"), exports) if isinstance(main, str)), "index.js")


def _users(texts: Mapping[str, str], mains: Mapping[str, str], is_test: IsTest) -> Mapping[str, set[str]]:
    """For each file those that use it directly; the files of a Go package use each other.

    A header uses the source that implements it, and a test with a client what Django's settings load.
    """
    resolver = Resolver(sorted(texts), mains=mains)
    users: dict[str, set[str]] = defaultdict(set)
    packages: dict[str, set[str]] = defaultdict(set)
    settings = {name for text in texts.values() for name in _SETTINGS.findall(text)}
    for path, text in sorted(texts.items()):
        if path.endswith(".go"):
            packages[path.rpartition("/")[0] + "/"].add(path)
        imported = {target for target, _ in resolver.resolve(path, _imports(path, text))}
        if path.endswith(".py"):
            by_client = settings if settings and is_test(path) and _CLIENT.search(text) else ()
            named = resolver.resolve(path, {*_modules_named(text), *by_client})
            imported |= {target for target, _ in named} | set(_walked(imported, text, texts))
        for target in imported:
            users[target].add(path)
            if _implements(path, target):
                users[path].add(target)
    for folder, members in packages.items():
        for path in members:
            users[path] |= members | users.get(folder, set())
    return users


# How Python loads modules without an import: by their names in strings, and all those of a package.

_NAMED: Final = lazy_pattern(r"[\"']([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)[\"']")
_WALKS: Final = lazy_pattern(r"\b(?:walk_packages|iter_modules)\b")
_SETTINGS: Final = lazy_pattern(r"\bDJANGO_SETTINGS_MODULE[\"'\],=\s]+([\w.]+)")
_CLIENT: Final = lazy_pattern(r"\bclient\b")


def _modules_named(text: str) -> Iterator[str]:
    """The dotted names in strings, and the modules that would hold them."""
    for name in _NAMED.findall(text):
        while "." in name:
            yield name
            name = name.rpartition(".")[0]


def _walked(imported: Collection[str], text: str, paths: Iterable[str]) -> Iterator[str]:
    """The modules of imported packages, where a source asks which there are."""
    folders = tuple(dirname(path) + "/" for path in imported if basename(path) == "__init__.py")
    if folders and _WALKS.search(text):
        yield from (path for path in paths if path.endswith(".py") and path.startswith(folders))


def _implements(path: str, header: str) -> bool:
    """True if a C or C++ source implements a header, so that including the header runs the source."""
    (name, ending), (declared, _) = (splitext(basename(each)) for each in (path, header))
    return ending.lower() in CPP_ENDINGS and name == declared


def _imports(path: str, text: str) -> tuple[str, ...]:
    if splitext(path)[1].lower() not in PYTHON_ENDINGS:
        return find_imports(path, text)
    try:
        return imports_of_module(ast.parse(text), text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _closure(start: Collection[str], users: Mapping[str, set[str]]) -> set[str]:
    found, waiting = set(start), deque(start)
    while waiting:
        for user in users.get(waiting.popleft(), set()) - found:
            found.add(user)
            waiting.append(user)
    return found


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace") if len(data) <= _MOST_BYTES else ""
