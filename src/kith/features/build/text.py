"""What the builds so far teach, as lines: success by task and by role, tries, tests, coverage, tokens."""

from collections.abc import Iterator
from typing import Any

from kith.features.build.profile import Builds, describe_builds


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
