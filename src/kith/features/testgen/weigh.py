"""What tests that pass are worth: the faults they notice, and the lines and branches that only they run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kith.features.testgen.bench import WHOLE, Bench, cases_of, names_of, passes
from kith.features.testgen.bodies import body_lines
from kith.features.testgen.mutants import Mutant
from kith.features.testgen.mutation import Tried, mutant_limits, try_mutant, try_mutants
from kith.features.testgen.result import Dropped, Held, Ruling
from kith.features.testgen.target import Target
from kith.gates.reports import Coverage, SuiteReport
from kith.gates.suites import Part, drop_parts


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file of tests that pass: its parts, the names of the new ones, and its run on the code as it is.

    The new ones stand in the order in which they are asked: the first to notice a mutant is kept.
    """

    text: bytes
    parts: Sequence[Part]
    new: Sequence[str]
    report: SuiteReport

    def ids(self, name: str) -> tuple[str, ...]:
        """How the runner is told to run one test, with all its parameters."""
        found = (case.id for case in cases_of(self.report, self.parts).get(name, ()) if case.id)
        return tuple(dict.fromkeys(re.sub(r"\[.*\]$", "", id, flags=re.S) for id in found))

    def without(self, out: str, names: Sequence[str]) -> bytes:
        return drop_parts(out, self.text, names) if names else self.text


async def weigh_tests(bench: Bench, candidate: Candidate, held: Held, alive: Sequence[Mutant]) -> Ruling:
    """Keep the tests that notice a mutant which no kept one notices, or run what no kept one runs."""
    ids = [id for name in candidate.new for id in candidate.ids(name)] or bench.all
    found = await try_mutants(bench.run, bench.toolchain, alive, ids, candidate.report, bench.seconds_left)
    tried = tuple([await _settle(bench, each, candidate) for each in found])
    kills = share_out(tried, candidate)
    if bench.whole and len(kills.get(WHOLE, ())) <= len(held.kills.get(WHOLE, ())):
        kills = {}  # another version of the same program, and no better
    measured = Measured(bench, {candidate.text: candidate.report})
    idle = [name for name in candidate.new if name not in kills]
    kills |= dict.fromkeys(await _that_run_more(measured, candidate, idle), ())
    useless = [name for name in candidate.new if name not in kills]
    dropped = [Dropped(name, _why_useless(candidate, name)) for name in useless]
    if not kills:
        return Ruling(held, tuple(dropped), tried=tried)
    text = candidate.without(bench.out, useless)
    report = await measured.run(text)
    leaning = [name for name in kills if not passes(report, candidate.parts, name)]
    if leaning:
        dropped += [Dropped(name, "passes only beside tests that were dropped") for name in leaning]
        text = candidate.without(bench.out, [*useless, *leaning])
        report = await measured.run(text)
    kept = {name: seen for name, seen in kills.items() if name not in leaning}
    now = Held(text, {**held.kills, **kept}, report)
    return Ruling(now if kept else held, tuple(dropped), tried=tried)


@dataclass(frozen=True, slots=True)
class Measured:
    """Files of tests, each run once on the code as it is."""

    bench: Bench
    known: dict[bytes, SuiteReport]

    async def run(self, text: bytes) -> SuiteReport:
        if text not in self.known:
            await self.bench.put(text)
            self.known[text] = await self.bench.test(coverage=True)
        return self.known[text]

    async def coverage(self, text: bytes) -> Coverage:
        """What a file of tests runs; nothing where it holds none."""
        return ((await self.run(text)).coverage if text else None) or Coverage({}, {})


async def _settle(bench: Bench, tried: Tried, candidate: Candidate) -> Tried:
    """A mutant that broke the run as a whole: the tests are asked one by one, until one notices it."""
    if not tried.broke or len(candidate.new) == 1:
        return tried
    limits = mutant_limits(candidate.report)
    for name in candidate.new:
        ids = candidate.ids(name)
        if not bench.seconds_left:
            break
        alone = await try_mutant(bench.run, bench.toolchain, limits, tried.mutant, ids)
        if alone.state == "killed":
            return replace(alone, by=frozenset(ids), broke=False)
    return tried


def share_out(tried: Sequence[Tried], candidate: Candidate) -> dict[str, tuple[Mutant, ...]]:
    """The new tests that notice a mutant which none before them notices; with those."""
    kills: dict[str, tuple[Mutant, ...]] = {}
    left = [each for each in tried if each.state == "killed"]
    for name in candidate.new:
        own = [each for each in left if each.broke or name in names_of(each.by, candidate.parts)]
        if own:
            kills[name] = tuple(each.mutant for each in own)
            left = [each for each in left if each not in own]
    return kills


async def _that_run_more(measured: Measured, candidate: Candidate, idle: Sequence[str]) -> list[str]:
    """Those idle tests that assert something and run a line or branch that no other kept test runs."""
    bench, all_run = measured.bench, candidate.report.coverage
    asserting = {part.name for part in candidate.parts if part.asserts}
    hopeful = [name for name in idle if name in asserting]
    if not hopeful or all_run is None:
        return []
    gone, kept = list(idle), list[str]()
    known = await measured.coverage(candidate.without(bench.out, gone))
    for name in hopeful:
        if not _runs_more(all_run, known, bench.target) or not bench.seconds_left:
            break
        fewer = [each for each in gone if each != name]
        now = await measured.coverage(candidate.without(bench.out, fewer))
        if _runs_more(now, known, bench.target):
            kept.append(name)
            gone, known = fewer, now
    return kept


def _runs_more(one: Coverage, other: Coverage, target: Target) -> bool:
    """Of the target's functions; what importing it runs is no test's merit."""
    ran, inside = one.ran.get(target.path, frozenset()), body_lines(target.path, target.source)
    more = ran - other.ran.get(target.path, frozenset())
    if any(target.holds(line) and (inside is None or line in inside) for line in more):
        return True
    branches, known = (each.branches.get(target.path, (0, 0))[0] for each in (one, other))
    return branches > known and bool(other.ran)


def _why_useless(candidate: Candidate, name: str) -> str:
    part = next((part for part in candidate.parts if part.name == name), None)
    if part is not None and not part.asserts:
        return "asserts nothing"
    return "notices no fault that the kept tests miss"
