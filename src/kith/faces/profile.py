"""`kith profile`: what the builds so far teach, with how sure that is."""

import argparse
import json
import sys
from typing import Any

from kith.app.profile import describe_profile, read_profile
from kith.app.project import Project
from kith.core.errors import EXIT_DONE
from kith.faces.folder import find_root
from kith.faces.lines import printable


def profile_command(args: argparse.Namespace) -> int:
    """Success by task and by role, tries, time in tests, coverage, tokens."""
    project = Project.open(find_root(args.folder), {})
    shown = describe_profile(read_profile(project, args.all))
    if args.json:
        print(json.dumps(shown, indent=2))
    elif not shown["builds"]["seconds"]:
        place = "anywhere" if args.all else f"in {printable(str(project.root))}"
        print(f"There was no build {place} yet; kith build begins one.", file=sys.stderr)
    else:
        print("\n".join(_lines(shown)))
    return EXIT_DONE


def _lines(shown: dict[str, Any]) -> list[str]:
    builds, tasks, coverage = shown["builds"], shown["tasks"], shown["coverage"]
    begun = tasks["good"] + tasks["bad"]
    lines = [_share("builds", builds), _share("tasks", tasks)]
    if begun:
        left = f", {tasks['skipped']} skipped" if tasks["skipped"] else ""
        tries, seconds, tokens = (tasks[each] / begun for each in ("tries", "seconds", "tokens"))
        lines.append(f"  each task: {tries:.1f} tries, {seconds:.0f} s, {tokens:,.0f} tokens{left}")
    if builds["seconds"]:
        lines.append(f"  of the time in tests: {shown['seconds_in_tests'] / builds['seconds']:.0%}")
    if coverage["builds"]:
        lines.append(f"  coverage: {coverage['before']:.1%} -> {coverage['after']:.1%} on average")
    lines += ["", "by role"]
    lines += [_share(f"  {name}", role) for name, role in shown["roles"].items()]
    return lines


def _share(name: str, tally: dict[str, Any]) -> str:
    """`implementer       7 of 9 good, 78% (45% to 94%)`: the share and its 95 % interval."""
    number = tally["good"] + tally["bad"]
    if not number:
        return f"{name:16}  nothing judged yet"
    low, high = tally["interval"]
    sure = f"{tally['share']:.0%} ({low:.0%} to {high:.0%})"
    tokens = f"  {tally['tokens']:,} tokens" if tally["tokens"] else ""
    return f"{name:16}  {tally['good']} of {number} good, {sure}{tokens}"
