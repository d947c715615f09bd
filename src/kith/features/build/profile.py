"""Summarise all builds: success by role, cost of tasks, time by step."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import asdict

from kith.agent.project import Project
from kith.features.build.builds import KIND, read_build
from kith.features.build.state import Build
from kith.features.measure.intervals import wilson
from kith.features.measure.profile import Addition, ProfilePart, ProfileScope


class Tally(Struct):
    """Good and bad outcomes, with what they cost in seconds and tokens (read and written)."""

    good: int = 0
    bad: int = 0
    seconds: float = 0.0
    tokens: int = 0

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the share of good ones; None without any."""
        return wilson(self.good, self.good + self.bad)


class Builds(Struct):
    """All builds of a folder, or of all folders."""

    builds: Tally = field(default_factory=Tally)
    tasks: Tally = field(default_factory=Tally)
    roles: dict[str, Tally] = field(default_factory=dict)
    tries: int = 0  # of all tasks that were begun
    skipped: int = 0
    testing: float = 0.0
    coverage: list[tuple[float, float]] = field(default_factory=list)  # before and after, shares

    def take(self, build: Build) -> None:
        """Count one more build in; one that was rejected by a person is no failure of the machine's."""
        if build.ended and build.ended.status in ("done", "failed", "limit"):
            self.builds.good += build.ended.status == "done"
            self.builds.bad += build.ended.status != "done"
        self.builds.seconds += build.seconds
        self.testing += build.testing
        for piece in build.pieces.values():
            self.tasks.good += piece.state == "done"
            self.tasks.bad += piece.state == "rolled back"
            self.skipped += piece.state == "skipped"
            self.tasks.seconds += piece.seconds
            self.tasks.tokens += piece.usage.total
            self.tries += piece.attempts
        for name, played in build.played.items():
            tally = self.roles.setdefault(name, Tally())
            tally.good, tally.bad = tally.good + played.good, tally.bad + played.bad
            tally.seconds += played.seconds
            tally.tokens += played.usage.total
            self.builds.tokens += played.usage.total
        before = build.before.figures.get("coverage") if build.before else None
        after = build.final["tests"].figures.get("coverage") if "tests" in build.final else None
        if before is not None and after is not None:
            self.coverage.append((before, after))


def read_builds(project: Project, everywhere: bool = False, since: float = 0.0) -> Builds:
    """The builds of this folder, or of all folders, that went on after a moment (seconds of the epoch)."""
    found = Builds()
    for id in project.log.of_kind(KIND, None if everywhere else project.root):
        build = read_build(project.log, id)
        if build.at >= since:
            found.take(build)
    return found


def describe_builds(found: Builds) -> dict[str, Any]:
    """The builds as plain data; shares come with their 95 % interval."""
    return {
        "builds": _tally(found.builds),
        "tasks": {**_tally(found.tasks), "tries": found.tries, "skipped": found.skipped},
        "roles": {name: _tally(each) for name, each in sorted(found.roles.items())},
        "seconds_in_tests": round(found.testing, 3),
        "coverage": _coverage(found.coverage),
    }


def _tally(tally: Tally) -> dict[str, Any]:
    number, interval = tally.good + tally.bad, tally.interval
    share = round(tally.good / number, 3) if number else None
    bounds = [round(bound, 3) for bound in interval] if interval else None
    return {**asdict(tally), "seconds": round(tally.seconds, 3), "share": share, "interval": bounds}


def _coverage(pairs: Iterable[tuple[float, float]]) -> dict[str, Any]:
    found = list(pairs)
    means = [round(sum(side) / len(found), 4) for side in zip(*found, strict=True)] if found else [None, None]
    return {"builds": len(found), "before": means[0], "after": means[1]}


def build_lines(builds: Builds) -> Iterator[str]:
    """All builds together; nothing where there was none."""
    shown = describe_builds(builds)
    whole, tasks, coverage = shown["builds"], shown["tasks"], shown["coverage"]
    if not whole["seconds"]:
        return
    begun = tasks["good"] + tasks["bad"]
    yield from (_share("  whole", whole), _share("  tasks", tasks))
    if begun:
        left = f", {tasks['skipped']} skipped" if tasks["skipped"] else ""
        tries, seconds, tokens = (tasks[each] / begun for each in ("tries", "seconds", "tokens"))
        yield f"    each task: {tries:.1f} tries, {seconds:.0f} s, {tokens:,.0f} tokens{left}"
    yield f"    of the time in tests: {shown['seconds_in_tests'] / whole['seconds']:.0%}"
    if coverage["builds"]:
        yield f"    coverage: {coverage['before']:.1%} -> {coverage['after']:.1%} on average"
    yield from (_share(f"  {name}", role) for name, role in shown["roles"].items())


def _share(name: str, tally: dict[str, Any]) -> str:
    """`implementer       7 of 9 good, 78% (45% to 94%)`: the share and its 95 % interval."""
    number = tally["good"] + tally["bad"]
    if not number:
        return f"{name:16}  nothing judged yet"
    low, high = tally["interval"]
    sure = f"{tally['share']:.0%} ({low:.0%} to {high:.0%})"
    tokens = f"  {tally['tokens']:,} tokens" if tally["tokens"] else ""
    return f"{name:16}  {tally['good']} of {number} good, {sure}{tokens}"


def read_addition(project: Project, scope: ProfileScope) -> Addition:
    """All builds together, unless a model or a kind of work is asked for."""
    whole = scope.model or scope.kind
    builds = Builds() if whole else read_builds(project, scope.everywhere, scope.since)
    return Addition(describe_builds(builds), "builds", tuple(build_lines(builds)))


PART: Final = ProfilePart(read_addition)
