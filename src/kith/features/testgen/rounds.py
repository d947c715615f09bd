"""One target's tests, round after round: a reply, what it leaves in the trial, the ruling, a letter."""

import time
from dataclasses import dataclass, replace

from kith.agent.attempt import land_edits
from kith.agent.roles import Cast
from kith.core.errors import TreeError
from kith.core.events import Judged, Notice, Proposed
from kith.core.loop import begin_turn, converse
from kith.core.model import Role
from kith.core.policy import READ_ONLY, Policy, Rule
from kith.core.run import Run, Thread
from kith.core.values import CallTarget, Changes, Verdict, say
from kith.core.workspace import ExecLimits, Trial
from kith.edits import summarise
from kith.features.testgen.bench import Bench
from kith.features.testgen.judge import judge_tests
from kith.features.testgen.letters import NO_FILE, again, first_letter, next_letter, only_block
from kith.features.testgen.mutation import mutants_of, try_mutants
from kith.features.testgen.place import Place, runnable
from kith.features.testgen.progress import Work
from kith.features.testgen.result import Held, Written
from kith.features.testgen.target import Target
from kith.gates.results.run import run_suite

_BEGIN = "before the tests"


@dataclass(frozen=True, slots=True)
class Wish:
    """How much is wanted: the most mutants, the seconds for trying them, and whether present tests count."""

    mutants: int = 60
    seconds: float = 300.0
    existing: bool = False


@dataclass(slots=True)
class Desk:
    """One target at work. `since` are the trial's changes before it, `there` what the file held before."""

    bench: Bench
    trial: Trial
    role: Role
    thread: Thread
    place: Place
    since: Changes
    there: bytes
    work: Work

    def sum_up(self) -> Written:
        return self.work.sum_up(self.bench.target, self.bench.out)


async def set_up(run: Run, cast: Cast, target: Target, place: Place, limits: ExecLimits, wish: Wish) -> Desk:
    """Everything for the first round, in the trial that `run.workspace` is."""
    trial = run.workspace
    if not isinstance(trial, Trial):
        raise TypeError("tests are written in a trial only")
    place = await runnable(trial, place)
    since, there = await trial.changes(), await _content(trial, place.out)
    await trial.checkpoint(_BEGIN)
    bench = Bench(run, place.toolchain, limits, place.out, target, time.monotonic() + wish.seconds)
    work = await _begin(bench, place, there, wish)
    player = await cast("tester")
    role = replace(player.role, policy=_only(place.out, player.role.policy))
    thread = Thread(f"tests {target.label}")
    begin_turn(run, thread, say(first_letter(target, place, there, player.window, player.small)))
    return Desk(bench, trial, role, thread, place, since, there, work)


async def start_over(desk: Desk, words: str, wish: Wish) -> None:
    """The person wants other tests: nothing is kept, and their words are the next message."""
    await desk.bench.put(desk.there)
    desk.bench = replace(desk.bench, until=time.monotonic() + wish.seconds)
    desk.work = await _begin(desk.bench, desk.place, desk.there, wish)
    desk.thread.add(desk.bench.run, say(f"{words}\n\n{again(desk.bench.out)}", "person"))


async def play_round(desk: Desk, number: int, *, last: bool) -> bool:
    """One reply, judged; True when nothing is missing any more. Raises LimitError, ModelError."""
    words = await _round(desk, number)
    if words and not last:
        desk.thread.add(desk.bench.run, say(words, "tests"))
    return not words


async def _begin(bench: Bench, place: Place, there: bytes, wish: Wish) -> Work:
    """What the present tests run, and with `existing` which mutants they notice already."""
    mutants = mutants_of([bench.target], wish.mutants)
    held = Held(there, {part.name: () for part in bench.parts(there)})
    work = Work(held, frozenset(held.kills), list(mutants))
    if not place.related:
        return work
    only = place.related if bench.all else ()
    base = await run_suite(bench.run, bench.toolchain, bench.limits, coverage=True, only=only)
    work.held, work.before = replace(held, report=base), base.coverage
    if wish.existing and (base.failed or not base.cases):
        bench.run.emit(Notice("The present tests do not pass, so they are not counted.", "warning"))
    elif wish.existing:
        tried = await try_mutants(bench.run, bench.toolchain, mutants, only, base, bench.seconds_left / 2)
        work.alive = [each.mutant for each in tried if each.state not in ("killed", "unbuilt")]
        noticed = len(mutants) - len(work.alive)
        bench.run.emit(Notice(f"The present tests notice {noticed} of {len(mutants)} planted faults."))
    return work


async def _round(desk: Desk, number: int) -> str:
    """The next letter, or "" when nothing is missing any more."""
    bench, work = desk.bench, desk.work
    await converse(bench.run, desk.role, desk.thread, number)
    verdict = await _land(desk, number)
    if not verdict.ok:
        return verdict.feedback
    kept_before, alive = len(work.own), [*work.killed, *work.alive] if bench.whole else work.alive
    ruling = await judge_tests(bench, await desk.trial.read(bench.out), work.held, alive)
    work.take_in(ruling)
    missed = work.missed(bench.target)
    words = next_letter(bench, ruling, work.survivors, missed)
    bench.run.emit(Proposed(summarise(await desk.trial.changes())))
    _tell(bench.run, work, kept_before, words, number)
    return words if ruling.refusal or work.survivors or missed else ""


async def _land(desk: Desk, number: int) -> Verdict:
    """Bring what the reply holds into the trial, and take back whatever is not the file of tests."""
    bench, trial = desk.bench, desk.trial
    verdict = await land_edits(bench.run, trial, desk.thread, number)
    content = await _content(trial, bench.out)
    if strays := _strays(desk.since, await trial.changes(), bench.out):
        await trial.go_back(_BEGIN)
        await bench.put(content)
        bench.run.emit(Notice(f"{', '.join(strays)} was put back: only {bench.out} may change.", "warning"))
    if verdict.ok and content == desk.work.held.text:
        block = only_block(desk.thread.last_words)
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


def _tell(run: Run, work: Work, kept_before: int, words: str, number: int) -> None:
    """One line for the person, the whole for the log."""
    kept, mutants = len(work.own), len(work.killed) + len(work.survivors)
    figures: dict[str, float] = {"tests": kept, "killed": len(work.killed), "mutants": mutants}
    better, report = kept > kept_before, work.held.report
    ran = (report.ran,) if better and report else ()
    run.emit(Judged(ran[0].command if ran else "tests", better, number, words, ran, figures=figures))
    noticed = f"{len(work.killed)} of {mutants} planted faults noticed"
    run.emit(Notice(f"{kept} {'test' if kept == 1 else 'tests'} kept, {noticed}."))
