"""What all builds together teach: which roles do well, what tasks cost, where the time goes."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from math import sqrt
from typing import Any

from kith.app.builds import KIND, read_build
from kith.app.project import Project
from kith.workflows.build.state import Build

_Z = 1.96  # standard deviations on each side, for 95 of 100


@dataclass(slots=True)
class Tally:
    """Good and bad outcomes, with what they cost in seconds and tokens (read and written)."""

    good: int = 0
    bad: int = 0
    seconds: float = 0.0
    tokens: int = 0

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the share of good ones lies, with 95 % confidence; None without any.

        Wilson's score interval: E. B. Wilson, Probable inference, JASA 22 (1927).
        """
        number = self.good + self.bad
        if not number:
            return None
        share, spread = self.good / number, _Z**2 / number
        middle = (share + spread / 2) / (1 + spread)
        half = _Z * sqrt(share * (1 - share) / number + spread / (4 * number)) / (1 + spread)
        return max(0.0, middle - half), min(1.0, middle + half)


@dataclass(slots=True)
class Profile:
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
            self.tasks.tokens += piece.usage.input + piece.usage.output
            self.tries += piece.attempts
        for name, played in build.played.items():
            tally = self.roles.setdefault(name, Tally())
            tally.good, tally.bad = tally.good + played.good, tally.bad + played.bad
            tally.seconds += played.seconds
            tally.tokens += played.usage.input + played.usage.output
            self.builds.tokens += played.usage.input + played.usage.output
        before = build.before.figures.get("coverage") if build.before else None
        after = build.final["tests"].figures.get("coverage") if "tests" in build.final else None
        if before is not None and after is not None:
            self.coverage.append((before, after))


def read_profile(project: Project, everywhere: bool = False) -> Profile:
    """The profile of this folder's builds, or of all."""
    profile = Profile()
    for id in project.log.of_kind(KIND, None if everywhere else project.root):
        profile.take(read_build(project.log, id))
    return profile


def describe_profile(profile: Profile) -> dict[str, Any]:
    """The profile as plain data; shares come with their 95 % interval."""
    return {
        "builds": _tally(profile.builds),
        "tasks": {**_tally(profile.tasks), "tries": profile.tries, "skipped": profile.skipped},
        "roles": {name: _tally(each) for name, each in sorted(profile.roles.items())},
        "seconds_in_tests": round(profile.testing, 3),
        "coverage": _coverage(profile.coverage),
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
