"""The judges of a change: the gates of a run, found when they are first needed."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from kith.agent.ecosystems import ecosystems
from kith.agent.linters import project_linters
from kith.core.events import Judged
from kith.core.evidence import Standard, Tries
from kith.core.run import Gate, Run, new_id
from kith.core.values import Changes, Finding, Question
from kith.core.workspace import ExecLimits, SizeLimits, read_readable
from kith.gates.command import name_command, not_allowed
from kith.gates.evidence.changed_tests import Claims
from kith.gates.evidence.check_runs import (
    LONG_S,
    SPARE_S,
    Before,
    Bench,
    Digests,
    NameEnvironment,
    ResultStore,
)
from kith.gates.evidence.judge import evidence_gate
from kith.gates.evidence.judged_change import Check
from kith.gates.evidence.quick_tests import find_new_failures
from kith.gates.evidence.smoke import outside_gate, untested_gate
from kith.gates.human import Person, human_gate
from kith.gates.limits import limits_gate
from kith.gates.linters import allowed_linters, lint_gate, types_gate
from kith.gates.reports import CaseResult
from kith.gates.soundness import soundness_gate
from kith.gates.toolchain import Toolchain
from kith.gates.toolchains import (
    choose_clues,
    choose_nested_clues,
    find_candidates,
    find_nested,
    find_toolchains,
    folders_beside,
)
from kith.gates.toolchains.python import PYTHON_MANIFESTS, read_settings
from kith.settings.features import features

# Commits the applied paths of the real tree under a message; the commit's hash, "" where git refused.
Commit = Callable[[Sequence[str], str], Awaitable[str]]
# Looks once more at a change that the gates let pass; it decides nothing.
Audit = Callable[[Run, Changes], Awaitable[None]]
# Finds what linters say of a change's lines.
Lint = Callable[[Run, Changes], Awaitable[Sequence[Finding]]]
# Finds the tests that a change breaks, if it takes at most so many seconds.
FindFailures = Callable[[Run, Changes, float], Awaitable[Sequence[CaseResult]]]


class Gates(Protocol):
    """Finds the gates of a change; `claimed` are the tests that the model says it had to change.

    `tries`: whether a model will try again after a no.
    """

    async def __call__(
        self, changes: Changes, claimed: Sequence[str] = (), tries: Tries = "none", /
    ) -> Sequence[Gate]: ...


class Stands(Struct, frozen=True):
    """The result of a check on the untouched tree: `before` is None while it still runs."""

    toolchain: Toolchain
    before: Before | None = None


async def no_stands() -> Sequence[Stands]:
    """Return no results: nothing is checked."""
    return ()


async def nothing_to_close() -> None:
    """Close nothing: no check runs in the background."""


async def no_findings(run: Run, changes: Changes) -> Sequence[Finding]:
    """Find nothing: no linter is asked."""
    return ()


async def no_failures(run: Run, changes: Changes, seconds: float) -> Sequence[CaseResult]:
    """Find nothing: no test is run."""
    return ()


class Judges(Struct, frozen=True):
    """The gates in their order, then the person.

    `baseline` runs the checks on the untouched tree, to tell old failures from new ones. `stands` starts
    that in the background and returns the known results. `failures` runs what is quick of them while the
    model still works. `must_check`: the person named a check, so it
    runs even without a change. `review`: a model's notes are shown beside the change. `audit` checks
    again what the gates pass, and `lint` finds what the model may correct once. `named`: patterns of files
    that run automatically and that the person allowed in advance. `ending` is asked whenever the model has
    ended its work, with or without a change. `aclose` stops the background work.
    """

    gates: Gates
    baseline: Callable[[], Awaitable[Sequence[Judged]]]
    person: Person
    commit: Commit
    must_check: bool = False
    review: bool = False
    audit: Audit | None = None
    lint: Lint = no_findings
    named: Sequence[str] = ()
    ending: Gate | None = None
    stands: Callable[[], Awaitable[Sequence[Stands]]] = no_stands
    failures: FindFailures = no_failures
    aclose: Callable[[], Awaitable[None]] = nothing_to_close


def with_gates(judges: Judges, own: Sequence[Gate]) -> Judges:
    """The judges, with a task's own gates before theirs."""
    if not own:
        return judges

    async def gates(changes: Changes, claimed: Sequence[str] = (), tries: Tries = "none") -> Sequence[Gate]:
        return [*own, *await judges.gates(changes, claimed, tries)]

    return replace(judges, gates=gates)


class Checking(Struct, frozen=True):
    """The checks of a change: `commands` (None: the project's own), their limits, and size limits.

    `goal`: the person named the commands for this very task, so they must succeed. Otherwise they must
    only not get worse, as `no_worse` must. `trusted`: the person named the commands, so they need no
    question even without a sandbox. `named`: files that run automatically and may change without a
    warning. `standard`: the evidence required where nobody looks. `request` is the person's request.
    `kept` and `digests` let results be reused; `environment` names what else they depend on. A suite that
    takes longer than `long_s` runs the tests that reach the change first. With the change it may take twice
    as long as without and `spare_s` more, and at least `least_s`. `lint`: new findings of linters and type
    checkers reject the change.
    """

    commands: tuple[str, ...] | None
    trusted: bool
    limits: ExecLimits
    sizes: SizeLimits
    named: Sequence[str] = ()
    goal: bool = True
    no_worse: tuple[str, ...] = ()
    standard: Standard = Standard()
    request: str = ""
    kept: ResultStore | None = None
    digests: Digests | None = None
    environment: NameEnvironment = lambda folder: ""
    long_s: float = LONG_S
    least_s: float = 0.0
    spare_s: float = SPARE_S
    lint: bool = False


def make_judges(run: Run, checking: Checking, commit: Commit) -> Judges:
    """The judges of a run on `run.workspace`, the person's own tree."""
    bench = Bench(
        run.workspace,
        checking.limits,
        checking.kept,
        checking.digests,
        checking.environment,
        checking.long_s,
        checking.least_s,
        checking.spare_s,
    )
    checks = _Checks(run, checking, bench)
    person = human_gate(named=checking.named, standard=checking.standard)
    return Judges(
        checks.gates,
        checks.baseline,
        person,
        commit,
        must_check=bool(checking.commands) and checking.goal,
        named=checking.named,
        stands=checks.stands,
        failures=checks.failures,
        aclose=bench.aclose,
    )


class _Checks(Struct):
    """The checks of one run: found once, among the files of the untouched tree, and asked about once."""

    run: Run
    checking: Checking
    bench: Bench
    answers: dict[str, bool] = field(default_factory=dict)
    found: tuple[Check, ...] | None = None
    files: Collection[str] = ()

    async def gates(self, changes: Changes, claimed: Sequence[str] = (), tries: Tries = "none") -> list[Gate]:
        claims = Claims(self.checking.request, tuple(claimed), tries)
        chosen: list[Gate] = [limits_gate(self.checking.sizes), soundness_gate(self.run)]
        chosen += (gate.load()(self.run) for feature in features() for gate in feature.gates)
        checks = [*await self._find(), *await self._find_beside(changes)]
        for check in checks:
            allowed = await self._may_run(check)
            gate = evidence_gate(self.bench, check, claims)
            chosen.append(gate if allowed else not_allowed(check.group[0]))
        if self.checking.lint:
            linters, _ = allowed_linters(self.run, await project_linters(self.run))
            limits = self.checking.limits
            chosen += [lint_gate(linters, limits, self.run), types_gate(linters, limits, self.run)]
        if self.checking.commands is None:
            chosen += self._without_tests(checks, changes)
        return chosen

    def _without_tests(self, checks: Sequence[Check], changes: Changes) -> list[Gate]:
        """For what no check speaks of: a project without any, or files that are in no project's folder."""
        tops = [check.group[0] for check in checks if check.found]
        if not checks:
            return [untested_gate(self.bench.home)]
        if all(any(each.holds(change.path) for each in tops) for change in changes):
            return []
        return [outside_gate(self.bench.home, tops)]

    async def baseline(self) -> list[Judged]:
        told = []
        for check in await self._find():
            if await self._may_run(check):
                before = await self.bench.before(self.run, check.group)
                told += [] if check.found and before.report.problem else [_judged(before)]
        return told

    async def stands(self) -> list[Stands]:
        """Only a sandbox lets the checks run beside the work; elsewhere they would be in its way."""
        if not self.run.workspace.confined:
            return []
        found = []
        for check in await self._find():
            self.bench.begin(self.run, check.group)
            before = self.bench.known(check.group)
            found.append(Stands(before.toolchain if before else check.group[0], before))
        return found

    async def failures(self, run: Run, changes: Changes, seconds: float) -> list[CaseResult]:
        """Only in a sandbox, where nobody has to be asked."""
        if not self.run.workspace.confined:
            return []
        groups = [check.group for check in await self._find()]
        found = [await find_new_failures(self.bench, each, run, changes, seconds) for each in groups]
        return [case for cases in found for case in cases]

    async def _find(self) -> tuple[Check, ...]:
        if self.found is None:
            self.found = await self._look()
        return self.found

    async def _look(self) -> tuple[Check, ...]:
        chosen = self.checking
        no_worse = tuple(Check((name_command(command),)) for command in chosen.no_worse)
        if chosen.commands is not None:
            named = (name_command(command) for command in chosen.commands)
            return (*(Check((each,), goal=chosen.goal) for each in named), *no_worse)
        self.files, contents = await _read_clues(self.run)
        groups = find_candidates(self.files, contents.get, ecosystems())
        return (*(Check(group, found=True) for group in groups), *no_worse)

    async def _find_beside(self, changes: Changes) -> list[Check]:
        """The checks of projects in folders that the change touches, and that the others leave out."""
        if self.checking.commands is not None:
            return []
        known = [check.group for check in await self._find() if check.found]
        kinds = ecosystems()
        folders = folders_beside(self.files, known, [change.path for change in changes])
        clues = [path for folder in folders for path in choose_nested_clues(folder, self.files, kinds)]
        manifests = sorted(PYTHON_MANIFESTS.intersection(self.files))
        contents = await read_readable(self.run.workspace, [*clues, *manifests] if folders else [])
        groups = [
            group for folder in folders for group in find_nested(folder, self.files, contents.get, kinds)
        ]
        spoken = {group[0].language for group in known if not group[0].folder}
        if not manifests:
            spoken.discard("Python")  # tests at the top without a manifest are not those of the folders
        settings = read_settings(self.files, contents.get)
        return [
            Check(group, found=True)
            for group in groups
            if group[0].language not in spoken
            or (group[0].language == "Python" and settings.leaves_out(group[0].folder))
        ]

    async def _may_run(self, check: Check) -> bool:
        if self.run.workspace.confined or (self.checking.trusted and not check.found):
            return True
        first = check.group[0]
        line = first.test
        if line not in self.answers:
            named = f"`{first.from_top(first.clean)}` and `{line}`" if first.clean else f"`{line}`"
            text = f"Run {named} without a sandbox? It runs this project's code on your machine."
            answer = await self.run.ask(Question(new_id(), "trust", text, ("yes", "no")))
            self.answers[line] = answer.choice == "yes"
        return self.answers[line]


def _judged(before: Before) -> Judged:
    """The check of the untouched tree as an event, named by the command that ran."""
    report = before.report
    return Judged(
        before.toolchain.test, report.ok, 0, ran=(report.ran,), when="before", figures=report.figures
    )


async def find_project_toolchains(run: Run) -> tuple[Toolchain, ...]:
    """The toolchains of the tree that `run.workspace` is, by its own files."""
    files, contents = await _read_clues(run)
    return find_toolchains(files, contents.get, ecosystems())


async def _read_clues(run: Run) -> tuple[Sequence[str], dict[str, bytes]]:
    files = await run.workspace.files()
    return files, await read_readable(run.workspace, choose_clues(files, ecosystems()))
