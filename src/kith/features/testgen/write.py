"""Write tests in a trial, target by target and round by round, and keep what proves something."""

import re
import time
from collections.abc import Sequence
from posixpath import splitext
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from kith.agent.attempt import Outcome, adopt, land_edits, not_adopted
from kith.agent.judges import Judges
from kith.agent.kept_trial import kept_trial
from kith.agent.roles import Cast
from kith.agent.verdicts import decide
from kith.context.budget import ASSUMED_WINDOW, fit_middle
from kith.core.errors import LimitError, ModelError, TreeError
from kith.core.events import Judged, Notice, Proposed
from kith.core.evidence import CheckEvidence, combine
from kith.core.loop import begin_turn, converse
from kith.core.model import Role
from kith.core.policy import READ_ONLY, Policy, Rule
from kith.core.run import Run, Thread
from kith.core.values import CallTarget, Changes, Verdict, say
from kith.core.workspace import ExecLimits, Trial
from kith.edits import summarise
from kith.features.testgen.judge import Dropped, KeptTests, TestRuling, TestsWritten, judge_tests
from kith.features.testgen.mutants import Mutant, show_mutant
from kith.features.testgen.mutation import WHOLE, MutationBench, mutants_of, try_mutants
from kith.features.testgen.target import CodeUnderTest, TestLocation, runnable
from kith.gates.reports import Coverage
from kith.gates.results.run import run_suite
from kith.gates.toolchain import COMMAND
from kith.view.lines import count

# Word the prompts for the tester: the task, then what was dropped, missed and not run.


CHARS_PER_TOKEN: Final = 3
_SURVIVORS: Final = 8  # shown at once: more than that no small model answers to
_LINES: Final = 12
_STYLE_LINES: Final = 40
_MORE: Final = "Write the missing tests into {}: new ones only, the kept ones stay by themselves."
NO_FILE: Final = "You wrote no file. Answer with the path of the test file on a line, then one fenced block."


def first_prompt(target: CodeUnderTest, place: TestLocation, there: bytes, window: int, small: bool) -> str:
    """The task: what is to be tested, how tests look here, what to write and how it will be judged.

    `there` is what the file of tests holds already.
    """
    room = (window or ASSUMED_WINDOW) * CHARS_PER_TOKEN // 3
    kind = place.toolchain.name if place.toolchain.runner is not COMMAND else "a program that exits with 0"
    task = (
        f"# Task\nWrite tests ({kind}) for {target.label} into {place.out}; nothing else may change.\n"
        f"They are run with `{place.toolchain.test}`. {_import_hint(target)}"
        "The code is taken to be right: every test must pass on it. Then small faults are planted in it, and "
        "a test that notices none of them is dropped. Test exact results: ordinary cases, edges, errors."
    )
    more = f"{place.out} holds tests already: they stay, so send only new ones, with what they need."
    parts = [_show_target(target, room), _style(place, room // (8 if small else 4)), task]
    return "\n\n".join(part for part in [*parts, more if there.strip() else ""] if part)


def next_prompt(
    bench: MutationBench, ruling: TestRuling, survivors: Sequence[Mutant], missed: Sequence[int]
) -> str:
    """Word what came of a round, and what is still missing."""
    if ruling.refusal:
        return ruling.refusal
    kept = ", ".join(name for name in ruling.held.kills if name != WHOLE)
    parts = [f"Kept: {kept}." if kept else "No test was kept." if not ruling.held.text else ""]
    wrong = [each for each in ruling.dropped if each.suspect]
    if wrong:
        parts.append(
            "These fail on the code as it is, so they were dropped; the code counts as right:\n"
            f"{ruling.failures or _listed(wrong)}"
        )
    parts += [_listed([each for each in ruling.dropped if not each.suspect])]
    if survivors:
        shown = [show_mutant(bench.target.source, each) for each in survivors[:_SURVIVORS]]
        parts.append("No test notices these changes of the code:\n" + "\n".join(shown))
    if missed:
        parts.append(f"No test runs these lines:\n{_lines(bench.target, missed)}")
    parts.append(again(bench.out) if bench.whole else _MORE.format(bench.out))
    return "\n\n".join(part for part in parts if part)


def again(out: str) -> str:
    """Asks for another version of the file."""
    return f"Send {out} again, whole."


def only_block(words: str) -> str:
    """The one fenced block of a reply that names no file, "" when there is none or there are several."""
    blocks = re.findall(r"^```[\w+-]*\n(.*?)^```\s*$", words, re.M | re.S)
    return blocks[0] if len(blocks) == 1 else ""


def _listed(dropped: Sequence[Dropped]) -> str:
    return "\n".join(f"Dropped: {each.name or 'your file'}: {each.reason}" for each in dropped)


def _show_target(target: CodeUnderTest, chars: int) -> str:
    """The whole file if there is room, else the lines that matter with a few around them."""
    text = target.text
    if len(text) > chars and target.lines:
        rows = text.split("\n")
        first, last = target.lines[0][0], target.lines[-1][1]
        text = "\n".join(rows[max(0, first - 4) : last + 3])
    language = "python" if target.path.endswith(".py") else "cpp"
    return f"# {target.label}\n```{language}\n{fit_middle(text, chars)}\n```"


def _style(place: TestLocation, chars: int) -> str:
    if not place.example.strip():
        return ""
    head = "\n".join(place.example.split("\n")[:_STYLE_LINES])
    return f"# How tests look here\n```\n{fit_middle(head, chars)}\n```"


def _import_hint(target: CodeUnderTest) -> str:
    """Say how a Python module is imported from the project's top folder."""
    path = target.path
    if not path.endswith(".py"):
        return ""
    module = splitext(path)[0].removeprefix("src/").removesuffix("/__init__").replace("/", ".")
    return f"The module is imported as `{module}`. " if re.fullmatch(r"[\w.]+", module) else ""


def _lines(target: CodeUnderTest, numbers: Sequence[int]) -> str:
    rows = target.text.split("\n")
    return "\n".join(f"{number}\t{rows[number - 1]}" for number in numbers[:_LINES] if number <= len(rows))


# Write tests in a trial, target by target and round by round, and keep what proves something.


class TargetProgress(Struct):
    """The state of the rounds; `there` are tests that the file held before.

    `before` is what the present tests run. `alive` are the mutants that nothing noticed yet, `untried` those
    of them for which there was no time.
    """

    held: KeptTests
    there: frozenset[str]
    alive: list[Mutant]
    before: Coverage | None = None
    dropped: dict[str, Dropped] = field(default_factory=dict)
    untried: frozenset[Mutant] = frozenset()

    @property
    def own(self) -> dict[str, int]:
        """The kept tests, with how many mutants each was the first to notice."""
        return {name: len(seen) for name, seen in self.held.kills.items() if name not in self.there}

    @property
    def killed(self) -> list[Mutant]:
        return [mutant for seen in self.held.kills.values() for mutant in seen]

    @property
    def survivors(self) -> list[Mutant]:
        """The mutants that the kept tests were shown and did not notice."""
        return [mutant for mutant in self.alive if mutant not in self.untried]

    def take_in(self, ruling: TestRuling) -> None:
        """Record the results of a round."""
        known = {*self.alive, *self.killed}
        known -= {each.mutant for each in ruling.tried if each.state == "unbuilt"}
        self.held = ruling.held
        self.alive = sorted(known - set(self.killed), key=lambda mutant: (mutant.path, mutant.start))
        decided = {each.mutant for each in ruling.tried if each.state != "untried"}
        new = {each.mutant for each in ruling.tried if each.state == "untried"}
        self.untried = frozenset(self.untried - decided | new)
        self.dropped |= {each.name: each for each in ruling.dropped}

    def missed(self, target: CodeUnderTest) -> tuple[int, ...]:
        """The target's lines that no test runs."""
        if self.held.coverage is None:
            return ()
        lines = self.held.coverage.missed.get(target.path, frozenset())
        lines -= self.before.ran.get(target.path, frozenset()) if self.before else frozenset()
        return tuple(sorted(line for line in lines if target.holds(line)))

    def sum_up(self, target: CodeUnderTest, out: str) -> TestsWritten:
        kept = self.own
        return TestsWritten(
            target.label,
            out,
            kept,
            tuple(each for name, each in self.dropped.items() if name not in kept),
            tuple(self.killed),
            tuple(self.survivors),
            len(self.untried),
            share(target, self.before),
            share(target, self.before, self.held.coverage) if kept else share(target, self.before),
            self.missed(target),
            (self.held.report.unmeasured,) if self.held.report and self.held.report.unmeasured else (),
        )


def share(target: CodeUnderTest, *measured: Coverage | None) -> float | None:
    """The part of the target's lines that ran in any of these runs; None where nobody measured."""
    ran, missed = set[int](), set[int]()
    for each in measured:
        ran |= set(each.ran.get(target.path, ())) if each else set()
        missed |= set(each.missed.get(target.path, ())) if each else set()
    ran, missed = ({line for line in lines if target.holds(line)} for lines in (ran, missed - ran))
    return len(ran) / (len(ran) + len(missed)) if ran or missed else None


def tell(written: TestsWritten) -> str:
    """The end of it in a line, for a person; the rest is in the value."""
    number = len(written.kept)
    kept = f"{count(number, 'test')} for {written.target} in {written.out}"
    return f"{kept}: {len(written.killed)} of {written.mutants} planted faults are noticed."


# --- rounds for one target -------------------------------------------------------------------


_BEGIN = "before the tests"


class TestgenLimits(Struct, frozen=True):
    """The most mutants, the seconds for trying them, and whether present tests count."""

    mutants: int = 60
    seconds: float = 300.0
    existing: bool = False


class TargetSession(Struct):
    """One target at work. `since` are the trial's changes before it, `there` what the file held before."""

    bench: MutationBench
    trial: Trial
    role: Role
    thread: Thread
    place: TestLocation
    since: Changes
    there: bytes
    work: TargetProgress

    def sum_up(self) -> TestsWritten:
        return self.work.sum_up(self.bench.target, self.bench.out)


async def set_up(
    run: Run,
    cast: Cast,
    target: CodeUnderTest,
    place: TestLocation,
    limits: ExecLimits,
    bounds: TestgenLimits,
) -> TargetSession:
    """Everything for the first round, in the trial that `run.workspace` is."""
    trial = run.workspace
    if not isinstance(trial, Trial):
        raise TypeError("tests are written in a trial only")
    place = await runnable(trial, place)
    since, there = await trial.changes(), await _content(trial, place.out)
    await trial.checkpoint(_BEGIN)
    bench = MutationBench(run, place.toolchain, limits, place.out, target, time.monotonic() + bounds.seconds)
    work = await _begin(bench, place, there, bounds)
    player = await cast("tester")
    role = replace(player.role, policy=_only(place.out, player.role.policy))
    thread = Thread(f"tests {target.label}")
    begin_turn(run, thread, say(first_prompt(target, place, there, player.window, player.small)))
    return TargetSession(bench, trial, role, thread, place, since, there, work)


async def start_over(session: TargetSession, words: str, bounds: TestgenLimits) -> None:
    """The person wants other tests: nothing is kept, and their words are the next message."""
    await session.bench.put(session.there)
    session.bench = replace(session.bench, until=time.monotonic() + bounds.seconds)
    session.work = await _begin(session.bench, session.place, session.there, bounds)
    session.thread.add(session.bench.run, say(f"{words}\n\n{again(session.bench.out)}", "person"))


async def _begin(
    bench: MutationBench, place: TestLocation, there: bytes, bounds: TestgenLimits
) -> TargetProgress:
    """Find what the present tests run, and with `existing` which mutants they notice already."""
    mutants = mutants_of([bench.target], bounds.mutants)
    held = KeptTests(there, {part.name: () for part in bench.parts(there)})
    work = TargetProgress(held, frozenset(held.kills), list(mutants))
    if not place.related:
        return work
    only = place.related if bench.all else ()
    base = await run_suite(bench.run, bench.toolchain, bench.limits, coverage=True, only=only)
    work.held, work.before = replace(held, report=base), base.coverage
    if bounds.existing and (base.failed or not base.cases):
        bench.run.emit(Notice("The present tests do not pass, so they are not counted.", "warning"))
    elif bounds.existing:
        tried = await try_mutants(bench.run, bench.toolchain, mutants, only, base, bench.seconds_left / 2)
        work.alive = [each.mutant for each in tried if each.state not in ("killed", "unbuilt")]
        noticed = len(mutants) - len(work.alive)
        bench.run.emit(Notice(f"The present tests notice {noticed} of {len(mutants)} planted faults."))
    return work


async def play_round(session: TargetSession, number: int) -> str:
    """One reply, judged: the next prompt, "" when nothing is missing. Raises LimitError, ModelError."""
    bench, work = session.bench, session.work
    await converse(bench.run, session.role, session.thread, number)
    verdict = await _land(session, number)
    if not verdict.ok:
        return verdict.feedback
    kept_before, alive = len(work.own), [*work.killed, *work.alive] if bench.whole else work.alive
    ruling = await judge_tests(bench, await session.trial.read(bench.out), work.held, alive)
    work.take_in(ruling)
    missed = work.missed(bench.target)
    words = next_prompt(bench, ruling, work.survivors, missed)
    bench.run.emit(Proposed(summarise(await session.trial.changes())))
    _tell(bench.run, work, kept_before, words, number)
    return words if ruling.refusal or work.survivors or missed else ""


async def _land(session: TargetSession, number: int) -> Verdict:
    """Apply the reply's edits to the trial, and revert all but the file of tests."""
    bench, trial = session.bench, session.trial
    verdict = await land_edits(bench.run, trial, session.thread, number)
    content = await _content(trial, bench.out)
    if strays := _strays(session.since, await trial.changes(), bench.out):
        await trial.go_back(_BEGIN)
        await bench.put(content)
        bench.run.emit(Notice(f"{', '.join(strays)} was put back: only {bench.out} may change.", "warning"))
    if verdict.ok and content == session.work.held.text:
        block = only_block(session.thread.last_words)
        if not block:
            return Verdict(False, NO_FILE, "tests")
        await trial.write(bench.out, block.encode())
    return verdict


def _strays(since: Changes, now: Changes, out: str) -> list[str]:
    """The files beside `out` that are not as they were before the first round."""
    differing = set(since).symmetric_difference(now)
    return sorted({change.path for change in differing} - {out})


async def _content(trial: Trial, path: str) -> bytes:
    try:
        return await trial.read(path)
    except TreeError:
        return b""


def _only(path: str, policy: Policy) -> Policy:
    """Whatever a role may do, here it writes one file."""
    commands = policy.decide("exec", CallTarget())
    return Policy("one-file", (*READ_ONLY.rules, Rule("write", path, "allow"), Rule("exec", "*", commands)))


def _tell(run: Run, work: TargetProgress, kept_before: int, words: str, number: int) -> None:
    """One line for the person, the whole for the log."""
    kept, mutants = len(work.own), len(work.killed) + len(work.survivors)
    figures: dict[str, float] = {"tests": kept, "killed": len(work.killed), "mutants": mutants}
    better, report = kept > kept_before, work.held.report
    ran = (report.ran,) if better and report else ()
    run.emit(Judged(ran[0].command if ran else "tests", better, number, words, ran, figures=figures))
    noticed = f"{len(work.killed)} of {mutants} planted faults noticed"
    run.emit(Notice(f"{count(kept, 'test')} kept, {noticed}."))


# --- all targets -----------------------------------------------------------------------------


async def write_tests(
    run: Run,
    cast: Cast,
    work: Sequence[tuple[CodeUnderTest, TestLocation]],
    limits: ExecLimits,
    bounds: TestgenLimits,
    judges: Judges,
) -> tuple[Outcome, tuple[TestsWritten, ...]]:
    """Tests for each target at its place, all in one trial; adopted when the person agrees."""
    async with kept_trial(run.workspace, run.trial_name) as held:
        outcome, written = await _write(run, held.trial, cast, work, limits, bounds, judges)
        held.adopted = outcome.status == "done"
    return outcome, written


async def _write(
    run: Run,
    trial: Trial,
    cast: Cast,
    work: Sequence[tuple[CodeUnderTest, TestLocation]],
    limits: ExecLimits,
    bounds: TestgenLimits,
    judges: Judges,
) -> tuple[Outcome, tuple[TestsWritten, ...]]:
    inside, sessions = run.inside(trial), list[TargetSession]()
    for target, place in work:
        with inside.step(f"tests for {target.label}") as step:
            sessions.append(await set_up(step, cast, target, place, limits, bounds))
            await _play(step, sessions[-1])
    while True:
        written, changes = tuple(session.sum_up() for session in sessions), await trial.changes()
        if not changes:
            return Outcome("failed", "No test was kept."), written
        await trial.remember(changes)
        evidence = combine([CheckEvidence("mutation testing", "held", "reached")])
        decision = await decide(run, trial, judges, changes, evidence)
        if decision.unmet:
            return not_adopted(decision), written
        if decision.ok:
            text = "\n".join(tell(each) for each in written)
            return await adopt(run, trial, judges, changes, decision, text), written
        if not decision.feedback:
            return Outcome("rejected", "Nothing was applied."), written
        await start_over(sessions[-1], decision.feedback, bounds)
        await _play(inside, sessions[-1])


async def _play(run: Run, session: TargetSession) -> None:
    """Rounds until nothing is missing or the tries are spent. What is kept outlives a model that gives up."""
    for number in range(1, run.limits.tries + 1):
        try:
            words = await play_round(session, number)
            if not words:
                return
            if number < run.limits.tries:
                session.thread.add(session.bench.run, say(words, "tests"))
        except (LimitError, ModelError) as error:
            if not session.work.own:
                raise
            run.emit(Notice(f"{error} The tests kept so far stay.", "warning"))
            return
