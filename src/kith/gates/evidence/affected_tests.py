"""Find the tests that reach a change, by the closure of imports and includes."""

import asyncio
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from posixpath import basename, splitext
from typing import Final

from msgspec import Struct

from kith.context.source import NO_CODE, language_of
from kith.core.values import Changes
from kith.core.workspace import Workspace
from kith.gates.evidence.inline_tests import holds_tests
from kith.gates.evidence.source_facts import KnownSources, SourceFacts, text_of
from kith.gates.evidence.source_users import MANIFESTS, find_users, has_imports, module_name
from kith.gates.reports import SuiteReport, file_of
from kith.gates.runners.python import PYTEST
from kith.gates.toolchain import Runner, Toolchain
from kith.gates.toolchains.python import test_modules
from kith.gates.untouched import is_test_file

_MOST_READ: Final = 4_000  # sources whose imports are followed; in a larger tree only names are looked for
_LOADS_ALL: Final = frozenset({"conftest.py", "CMakeLists.txt", "Makefile", "GNUmakefile", "makefile"})
_FEW: Final = 100  # sources whose imports are followed in any case

IsTest = Callable[[str], bool]


class Reach(Struct, frozen=True, dict=True):
    """The files of tests that reach a change. `whole`: it concerns how all of them are built or run."""

    tests: frozenset[str] = frozenset()
    whole: bool = False

    def __bool__(self) -> bool:
        return self.whole or bool(self.tests)

    def covers(self, id: str, runner: Runner) -> bool:
        """True if a test reaches the change; where its id does not tell its file, if any test does."""
        if self.whole or not runner.by_file:
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


async def read_reach(
    home: Workspace, changes: Changes, known: KnownSources, is_test: IsTest = is_test_file
) -> Reach:
    """The tests of the tree `home`, whose sources are `known`, that reach a change of it."""
    gone = {change.path for change in changes}
    paths = [path for path in choose_sources(await home.files()) if path not in gone]
    contents = await home.read_many(paths)
    contents |= {change.path: change.after for change in changes if change.after is not None}
    return await asyncio.to_thread(find_reach, contents, changes, is_test, known)


def affected_files(toolchain: Toolchain, before: SuiteReport, reach: Reach, changes: Changes) -> list[str]:
    """The files of tests that reach the change, for runners that can be told files.

    What the command left out before, such as benchmarks outside `testpaths`, stays out; a run that was
    stopped does not tell what that is.
    """
    if not toolchain.runner.by_file or reach.whole:
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
    return frozenset(id for id in ids if reach.covers(id, PYTEST))


def choose_sources(files: Collection[str]) -> list[str]:
    """The files whose contents `find_reach` needs: all code, or only tests where there is very much."""
    sources = sorted(path for path in files if _is_code(path) or basename(path) in MANIFESTS)
    return sources if len(sources) <= _MOST_READ else [path for path in sources if is_test_file(path)]


def find_reach(
    contents: Mapping[str, bytes],
    changes: Changes,
    is_test: IsTest = is_test_file,
    known: KnownSources | None = None,
) -> Reach:
    """The tests that import or include a changed file, also through others, or name one that is no code.

    `contents` are the sources of the tree with the change in it (`choose_sources`); `known` remembers them.
    """
    changed = {change.path for change in changes}
    if any(basename(path) in _LOADS_ALL or path.endswith(".cmake") for path in changed):
        return Reach(whole=True)
    code = {path: data for path, data in contents.items() if _is_code(path)}
    texts = {path: text_of(data) for path, data in code.items()}
    only_tests = all(is_test(path) for path in texts.keys() - changed)
    if only_tests and len(texts) > _FEW:
        names = {module_name(path) if _is_code(path) else basename(path) for path in changed}
        return Reach(_naming(names, {path: text for path, text in texts.items() if is_test(path)}))
    manifests = {path: text_of(data) for path, data in contents.items() if basename(path) in MANIFESTS}
    facts = dict.fromkeys(changed, SourceFacts()) | (known or KnownSources()).look(code)
    users = find_users({**dict.fromkeys(changed, ""), **texts}, facts, manifests)
    names = {basename(path) for path in changed if not has_imports(path)}
    names |= {module_name(path) for path in changed if only_tests and _is_code(path)}
    reached = _closure({*changed, *_naming(names, texts)}, users)
    sources = {path: texts.get(path, "") for path in reached if _is_code(path)}
    tests = (path for path, text in sources.items() if is_test(path) or holds_tests(path, text))
    return Reach(frozenset(tests))


def _is_code(path: str) -> bool:
    language = language_of(path)
    return bool(language) and language not in NO_CODE


def _naming(names: Collection[str], texts: Mapping[str, str]) -> frozenset[str]:
    """The sources that name one of these files or modules."""
    if not names:
        return frozenset()
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(names)))})(?!\w)")
    return frozenset(path for path, text in texts.items() if pattern.search(text))


def _closure(start: Collection[str], users: Mapping[str, set[str]]) -> set[str]:
    found, waiting = set(start), deque(start)
    while waiting:
        for user in users.get(waiting.popleft(), set()) - found:
            found.add(user)
            waiting.append(user)
    return found
