"""Runs a project's checks on the untouched tree, once, and on a change alone, on top of what that left."""

import asyncio
import json
import os
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kith.core.codec import decode, encode
from kith.core.errors import BusyError, TreeError
from kith.core.evidence import Standing
from kith.core.git import blob_id
from kith.core.patterns import lazy_pattern
from kith.core.run import Run
from kith.core.values import Changes
from kith.core.workspace import ExecLimits, ShellCommand, Trial, Workspace
from kith.gates.evidence.source_facts import KnownSources
from kith.gates.reports import SuiteReport, file_of
from kith.gates.results.run import run_suite
from kith.gates.suites import is_inert
from kith.gates.toolchain import COMMAND, PYTHON, Toolchain, enter

GROWTH: Final = 2.0  # the change may take so many times as long as the untouched tree did,
SPARE_S: Final = 60.0  # and so much more
LONG_S: Final = 20.0  # of a suite: from here on the tests that reach the change run first
_OBJECT_MARKS: Final = (b"\x7fELF", b"!<arch>\n", b"\xcf\xfa\xed\xfe")  # of Linux, of both, of macOS
_LESS: Final = 4  # where a command ran out of time, each other one has so much less of it
_NAMED: Final = 100  # paths in one command, whose length and output are limited
_FORM: Final = "6"  # of what is kept; another one is not read


class ResultStore(Protocol):
    """A store of results between tasks; all of it may be deleted."""

    def load(self, key: str) -> str | None: ...

    def save(self, key: str, text: str) -> None: ...

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Held while a suite runs: two at once would distort each other's times."""

    def keep_only(self, trial: str) -> None:
        """Remove the other trials that were kept for the same tree: their names differ at the end."""


# git's blob id of every file of the tree.
Digests = Callable[[], Awaitable[Mapping[str, str]]]
# A digest of what is installed for the commands of a folder, "" for the top.
NameEnvironment = Callable[[str], str]


class Before(Struct, frozen=True):
    """The untouched tree: the toolchain that served best, and what it said."""

    toolchain: Toolchain
    report: SuiteReport


class ChosenCheck(Struct, frozen=True):
    """The command that serves a project best, why it was tried, and its result on the untouched tree.

    `environment` names what was installed then: with something else another command may serve better.
    """

    command: str
    why: str
    stands: Standing
    environment: str = ""


class Bench:
    """One tree's checks. What was run on the same content is not run again."""

    def __init__(
        self,
        home: Workspace,
        limits: ExecLimits,
        kept: ResultStore | None = None,
        digests: Digests | None = None,
        environment: NameEnvironment = lambda folder: "",
        long_s: float = LONG_S,
        least_s: float = 0.0,
        spare_s: float = SPARE_S,
    ) -> None:
        self.home, self.limits, self.long_s = home, limits, long_s
        self.least_s, self.spare_s = least_s, spare_s
        self._kept, self._read_digests, self._environment = kept, digests, environment
        self.sources = KnownSources(kept, home.root)
        self._before: dict[tuple[Toolchain, ...], asyncio.Task[Before]] = {}
        self._after: dict[tuple[Toolchain, Changes, tuple[str, ...]], SuiteReport] = {}
        self._digests: Mapping[str, str] | None = None
        self._trees: dict[Changes, str] = {}  # a name for the content of the whole tree with these changes
        self._alone = asyncio.Lock()
        self._late: set[Changes] = set()

    async def before(self, run: Run, group: Sequence[Toolchain]) -> Before:
        """Return the checks of the untouched tree, by the toolchain of the group with most passing tests."""
        self.begin(run, group)
        task = self._before[tuple(group)]
        try:
            return await asyncio.shield(task)
        except Exception:
            self._before.pop(tuple(group), None)  # a broken disk may be whole again
            raise

    def begin(self, run: Run, group: Sequence[Toolchain]) -> None:
        """Start to run the untouched tree's checks, beside whatever else is done."""
        key = tuple(group)
        if key not in self._before:
            self._before[key] = asyncio.ensure_future(self._run_before(run, key))

    def known(self, group: Sequence[Toolchain]) -> Before | None:
        """Return the checks of the untouched tree, if they are known already."""
        task = self._before.get(tuple(group))
        return (
            task.result() if task and task.done() and not task.cancelled() and not task.exception() else None
        )

    async def aclose(self) -> None:
        """Stop what still runs."""
        tasks = [task for task in self._before.values() if not task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=10.0)

    async def after(
        self, run: Run, before: Before, changes: Changes, only: Sequence[str] = (), seconds: float = 0.0
    ) -> SuiteReport:
        """The tests in a clean trial that holds the change and nothing else, on top of what `before` built.

        `only` names tests or files of tests; `seconds` is the most that it may take (0: by what the untouched
        tree took). The same change is not tested twice.
        """
        key = (before.toolchain, changes, tuple(only))
        if key not in self._after and not only and (known := await self._recall(before.toolchain, changes)):
            self._after[key] = known
        if key not in self._after:
            limits = replace(self.limits, seconds=seconds or self._patience(before.report))
            async with self._turn(), self._changed(before.toolchain, changes) as trial:
                self._after[key] = await run_suite(run.inside(trial), before.toolchain, limits, only=only)
            if not only:
                await self._keep(before.toolchain, self._after[key], changes)
        return self._after[key]

    async def again(self, run: Run, before: Before, changes: Changes, ids: Sequence[str]) -> SuiteReport:
        """Some tests alone, once more: with a change, or with none on the untouched tree."""
        limits = replace(self.limits, seconds=self._patience(before.report))
        async with self._turn(), self._changed(before.toolchain, changes) as trial:
            return await run_suite(run.inside(trial), before.toolchain, limits, only=ids)

    def is_new(self, changes: Changes) -> bool:
        """True at the first call for a change: nobody was told yet that its check did not end."""
        known = changes in self._late
        self._late.add(changes)
        return not known

    def _patience(self, before: SuiteReport) -> float:
        """Seconds for a change: by what the untouched tree took, however near to the limit that was.

        `least_s` is what the person asked for.
        """
        if before.ran.timed_out or not before.cases:
            return self.limits.seconds
        return max(GROWTH * before.ran.seconds + self.spare_s, self.least_s)

    # --- the untouched tree ------------------------------------------------------------------

    async def _run_before(self, run: Run, group: tuple[Toolchain, ...]) -> Before:
        chosen = read_choice(self._kept, self.home.root, group) if self._kept else None
        if chosen and all(chosen.environment != self._environment(each.folder) for each in group):
            chosen = None  # what was missing may be there now
        ordered = sorted(group, key=lambda each: chosen is None or each.test != chosen.command)
        best: Before | None = None
        tried = list[Before]()
        limits = self.limits
        for toolchain in ordered:
            if await self._is_needless(tried, toolchain):
                continue
            found = Before(toolchain, await self._run_one(run, toolchain, limits))
            tried.append(found)
            if found.report.ran.timed_out:  # what one waits for, the others often wait for, too
                limits = replace(self.limits, seconds=self.limits.seconds / _LESS)
            if best is None or _worth(found.report) > _worth(best.report):
                best = found
            if found.report.ok and found.report.passed:
                break
            if found.report.ran.seconds >= self.long_s and _is_nearly_green(found.report):
                break  # another one would take as long, and hardly say more
        assert best is not None
        self._choose(best, group)
        if self._kept and (name := await self._name(best.toolchain)):
            self._kept.keep_only(name)  # what the other candidates built serves nobody
        return best

    async def _is_needless(self, tried: Sequence[Before], toolchain: Toolchain) -> bool:
        """True for another way to start what went well, or what cannot do better than the others did."""
        well = (each.toolchain.name for each in tried if _ends_well(each.report))
        if toolchain.name in well or (tried and await _only_defines(self.home, toolchain)):
            return True
        loaded = any(_has_loaded_all(each, toolchain) for each in tried)
        return loaded and await _lacks_package(self.home, toolchain)

    async def _run_one(self, run: Run, toolchain: Toolchain, limits: ExecLimits) -> SuiteReport:
        if (known := await self._recall(toolchain)) is not None:
            return known
        async with self._turn():
            if (known := await self._recall(toolchain)) is not None:  # another kith was quicker
                return known
            name = await self._name(toolchain)
            async with self._base(name) as trial:
                await self._clean(toolchain, trial)
                report = await run_suite(run.inside(trial), toolchain, limits)
        await self._keep(toolchain, report, ())
        return report

    @asynccontextmanager
    async def _base(self, name: str) -> AsyncIterator[Trial]:
        """The trial of the untouched tree; a named one stays; while it is in use another one serves."""
        trial: Trial | None = None
        async with AsyncExitStack() as held:
            if name:
                with suppress(BusyError):
                    trial = await held.enter_async_context(_staying(self.home, name))
            if trial is None:
                trial = await held.enter_async_context(self.home.trial())
            yield trial

    @asynccontextmanager
    async def _changed(self, toolchain: Toolchain, changes: Changes) -> AsyncIterator[Trial]:
        """A trial that holds the change and nothing else, on top of what the untouched tree built."""
        async with self._base(await self._name(toolchain)) as base, base.trial() as trial:
            await self._clean(toolchain, trial)
            await trial.apply(changes)
            yield trial

    async def _clean(self, toolchain: Toolchain, trial: Trial) -> None:
        """Remove what was built before, in the project's own way, and nothing that belongs to the tree.

        Untracked objects are not written again: newer than the sources, they would keep make from building.
        """
        if not toolchain.clean:
            return
        known = {*await trial.files()}
        await trial.exec(ShellCommand(f"{enter(toolchain.folder)}{toolchain.clean}"), self.limits)
        gone = [each for each in await trial.changes() if each.after is None and each.path in known]
        objects = [each.path for each in gone if (each.before or b"").startswith(_OBJECT_MARKS)]
        built = {*objects} - await _tracked(trial, objects)
        for change in gone:
            if change.path not in built:
                with suppress(TreeError):  # nobody may write a file there that is read-only
                    await trial.apply((change.inverse,))

    async def _name(self, toolchain: Toolchain) -> str:
        """One trial for the tree's present content, where a build can be continued; "" where none is.

        Makefiles written by hand seldom say all that a target needs: what they built may miss a change.
        """
        if self._kept is None or not toolchain.compiles:
            return ""
        key = await self._key(toolchain, ())
        place = sha256(choice_key(self.home.root, (toolchain,)).encode()).hexdigest()[:12]
        return f"base_{place}-{key[:16]}" if key else ""

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        async with self._alone:
            if self._kept is None:
                yield
                return
            async with self._kept.turn():
                yield

    # --- what is known already ---------------------------------------------------------------

    async def _recall(self, toolchain: Toolchain, changes: Changes = ()) -> SuiteReport | None:
        key = await self._key(toolchain, changes)
        text = self._kept.load(key) if key and self._kept else None
        if text is None:
            return None
        try:
            found: SuiteReport = decode(json.loads(text), SuiteReport)
        except (ValueError, TypeError, AttributeError, KeyError):
            return None
        return found

    async def _keep(self, toolchain: Toolchain, report: SuiteReport, changes: Changes) -> None:
        """Only what really ran: what is missing may be installed, what was slow may be quick tomorrow."""
        if self._kept is None or report.ran.timed_out or not report.passed:
            return
        if key := await self._key(toolchain, changes):
            self._kept.save(key, json.dumps(encode(replace(report, coverage=None))))

    async def _key(self, toolchain: Toolchain, changes: Changes) -> str:
        if self._read_digests is None:
            return ""
        if self._digests is None:
            self._digests = await self._read_digests()
        if changes not in self._trees:
            self._trees[changes] = _tree_id(self._digests, changes)
        told = (
            _FORM,
            str(self.home.root),
            self._environment(toolchain.folder),
            toolchain.test,
            toolchain.runner.name,
            toolchain.clean,
        )
        rows = [*told, self._trees[changes]]
        return sha256("\0".join(rows).encode("utf-8", "surrogateescape")).hexdigest()

    def _choose(self, best: Before, group: Sequence[Toolchain]) -> None:
        """Remember what of a group serves this project best."""
        if self._kept and best.report.passed:
            toolchain = best.toolchain
            installed = self._environment(toolchain.folder)
            choice = ChosenCheck(toolchain.test, toolchain.why, standing_of(best.report), installed)
            self._kept.save(choice_key(self.home.root, group), json.dumps(encode(choice)))


async def _tracked(trial: Trial, paths: Sequence[str]) -> set[str]:
    """Those of the paths that git tracks; none where there is no git."""
    known = set[str]()
    for begin in range(0, len(paths), _NAMED):
        named = shlex.join(f":(literal){path}" for path in paths[begin : begin + _NAMED])
        ran = await trial.exec(ShellCommand(f"git ls-files -z -- {named}"))
        known.update(ran.output.split("\0") if ran.code == 0 else ())
    return known


def _tree_id(digests: Mapping[str, str], changes: Changes) -> str:
    """One name for the content of all files, with a change in them."""
    known = dict(digests)
    for change in changes:
        known.pop(change.path, None)
        if change.after is not None:
            known[change.path] = blob_id(change.after)
    rows = (f"{digest} {path}" for path, digest in sorted(known.items()))
    return sha256("\0".join(rows).encode("utf-8", "surrogateescape")).hexdigest()


class _StaysError(Exception):
    """The trial is left for the next one who needs it."""


@asynccontextmanager
async def _staying(home: Workspace, name: str) -> AsyncIterator[Trial]:
    """A trial that is there still when the block has ended."""
    try:
        async with home.trial(name) as trial:
            yield trial
            raise _StaysError
    except _StaysError:
        return


def choice_key(root: Path, group: Sequence[Toolchain]) -> str:
    """Under what it is kept which command of a group tests the project at `root`."""
    place = f"{group[0].folder}\0{group[0].language}".encode("utf-8", "surrogateescape")
    return f"choice-{sha256(os.fsencode(root)).hexdigest()[:24]}-{sha256(place).hexdigest()[:8]}"


def read_choice(kept: ResultStore, root: Path, group: Sequence[Toolchain]) -> ChosenCheck | None:
    """The command of a group that served a project best so far; None where nothing was run yet."""
    text = kept.load(choice_key(root, group))
    try:
        choice: ChosenCheck | None = decode(json.loads(text), ChosenCheck) if text else None
    except (ValueError, TypeError, AttributeError, KeyError):
        return None
    return choice


def standing_of(report: SuiteReport) -> Standing:
    """Summarise a run of tests in numbers."""
    return Standing(
        report.ran.code,
        len(report.passed),
        len(report.failed),
        sum(case.outcome == "skipped" for case in report.cases),
        round(report.ran.seconds, 2),
        bool(report.cases),
        report.ran.timed_out,
    )


def _ends_well(report: SuiteReport) -> bool:
    """True if a command that names no tests ended well; of tests that were all skipped, others may pass."""
    return report.ok and not report.problem and not report.cases


def _worth(report: SuiteReport) -> tuple[int, bool, bool, bool]:
    """Most passing tests, then a command that ends well, then one that built all, or that ran at all."""
    ran, well = report.ran.code not in (126, 127), report.ran.code == 0 and not report.problem
    return len(report.passed), well, ran and report.built, ran


def _has_loaded_all(before: Before, toolchain: Toolchain) -> bool:
    """True if the tests of a command for the built package ran from the sources, without a missing module."""
    report = before.report
    if not toolchain.installed or toolchain.run != before.toolchain.run:
        return False
    lacking = any(
        case.id.endswith(".py") or _LACKS.search(f"{case.error}\n{case.message}") for case in report.failed
    )
    return bool(report.passed) and report.built and not report.problem and not lacking


async def _lacks_package(home: Workspace, toolchain: Toolchain) -> bool:
    """True if the package is not installed, so that a command for it finds what the sources are, at best."""
    line = f"{PYTHON} -c {shlex.quote(_IS_ABSENT)} {shlex.join(toolchain.installed)}"
    ran = await home.exec(ShellCommand(f"{enter(toolchain.folder)}{line}"), _LOOK)
    return ran.code == _ABSENT


async def _only_defines(home: Workspace, toolchain: Toolchain) -> bool:
    """True for a script that only defines what it tests: it needs a runner, and succeeds without one."""
    words = shlex.split(toolchain.run) if toolchain.runner == COMMAND else []
    if words[:1] != [PYTHON] or not words[1:2] or not words[1].endswith(".py"):
        return False
    path = f"{toolchain.folder}/{words[1]}" if toolchain.folder else words[1]
    source = (await home.read_many([path])).get(path)
    return source is not None and is_inert(source)


_LOOK: Final = ExecLimits(seconds=10.0, output=10_000)
_ABSENT: Final = 3
_IS_ABSENT: Final = f"""
import importlib.util, sys
sys.exit({_ABSENT} * (not any(map(importlib.util.find_spec, sys.argv[1:]))))
"""
_LACKS: Final = lazy_pattern(
    r"\b(?:ImportError|ModuleNotFoundError|PackageNotFoundError|SyntaxError)\b"
    r"|\b[Nn]o module named\b|\b(?:can|could )not import\b|\bnot installed\b"
)
_FEW_LOST: Final = 10  # at most one in so many tests fails or stays unknown: the suite is nearly green
_NOT_LOADED: Final = frozenset({"ImportError", "ModuleNotFoundError", "SyntaxError"})


def _is_nearly_green(report: SuiteReport) -> bool:
    """True if few tests fail, with those that the files that cannot be loaded may hold."""
    unloaded = sum(case.id.endswith(".py") or case.error in _NOT_LOADED for case in report.failed)
    files = {_holder_of(id) for id in report.passed}
    hidden = unloaded * len(report.passed) / max(1, len(files))
    lost = (len(report.failed) + hidden) * _FEW_LOST
    return bool(report.passed) and lost <= len(report.passed)


def _holder_of(id: str) -> str:
    """The file or module of a test."""
    return file_of(id) if "::" in id else id.rsplit(".", 2)[0]


# Tests that speak against a change run again, alone: one pass says that they are only flaky.

_FEW: Final = 5  # suspects that are always run again; above that up to a tenth of the suite
_AGAIN: Final = 2  # times that a suspect runs alone

# Runs the named tests alone.
RunAlone = Callable[[Sequence[str]], Awaitable[SuiteReport]]


def may_be_flaky(suspects: int, tests: int) -> bool:
    """True if so few of so many tests fail that chance may have done it."""
    return 0 < suspects <= max(_FEW, tests // 10)


async def pass_alone(ids: Sequence[str], run: RunAlone) -> set[str]:
    """Those of the tests that pass at least once when they run alone."""
    passed, left = set[str](), list(ids)
    for _ in range(_AGAIN):
        report = await run(left)
        passed |= report.passed.intersection(left)
        left = [id for id in left if id not in passed]
        if not left or not report.cases:
            break
    return passed
