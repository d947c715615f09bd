"""`kith coach`: how each model is asked, what was tried with which result, and experiments."""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

from kith.agent.project import Project
from kith.core.decisions import Coached
from kith.core.errors import EXIT_DONE
from kith.core.event_loop import run_until_signal
from kith.features.coach.adoption import adopt_way, describe_coaching, settle_live, undo_way
from kith.features.coach.coach import CoachRun, TriedStrategy, run_coach
from kith.features.coach.strategy import STATES, tell_levers
from kith.terminal.options import find_root, settings_flags
from kith.terminal.terminal import choose_voice
from kith.view.lines import count, day, wrapped
from kith.view.printing import printable

_MINUTES: Final = 60


def coach_command(args: argparse.Namespace) -> int:
    """Show the ways in which models are asked, with their evidence."""
    project = Project.open(find_root(args.folder), {})
    settle_live(project)
    told = describe_coaching(project)
    if args.json:
        print(json.dumps(told, indent=2))
    else:
        print(wrapped(printable("\n".join(_lines(told))), sys.stdout))
    return EXIT_DONE


def run_command(args: argparse.Namespace) -> int:
    """Experiments, for so many minutes; what becomes of each is told as it comes."""
    project = Project.open(find_root(args.folder), settings_flags(args))
    voice, answerer, _ = choose_voice(not args.json, yes=False)
    seconds = 60.0 * (args.minutes or _MINUTES)
    with closing(voice):
        done = run_until_signal(run_coach(project, seconds, answerer, [voice.hear]))
    if args.json:
        told = {"model": done.model, "tried": [*map(_tried, done.tried)], "why": done.why}
        print(json.dumps(told, indent=2))
    else:
        print(wrapped(printable("\n".join(_run_lines(done))), sys.stderr), file=sys.stderr)
    return EXIT_DONE


def undo_command(args: argparse.Namespace) -> int:
    """Undo a strategy: the one before it is used again."""
    return _say(undo_way(Project.open(find_root(args.folder), {}), args.id))


def adopt_command(args: argparse.Namespace) -> int:
    """Adopt a way that trials accepted, without waiting for live work."""
    return _say(adopt_way(Project.open(find_root(args.folder), {}), args.id))


def _say(told: Coached) -> int:
    print(f"{told.strategy['id']} ({printable(told.model)}, {told.kind}): {told.why}.", file=sys.stderr)
    return EXIT_DONE


def _tried(each: TriedStrategy) -> dict[str, Any]:
    return {
        "kind": each.kind,
        **each.strategy.data,
        "verdict": each.decision.verdict,
        "why": each.decision.why,
        "figures": dict(each.decision.figures),
    }


def _run_lines(done: CoachRun) -> Iterator[str]:
    verdicts = {"accept": "accepted", "refuse": "given up", "go on": "not settled yet"}
    for each in done.tried:
        yield f"{each.kind}, {tell_levers(each.strategy.levers.changed)}: {verdicts[each.decision.verdict]}"
        yield f"  {each.decision.why}"
    if done.why:
        yield f"{done.model}: {done.why}."


def _lines(told: dict[str, Any]) -> Iterator[str]:
    recorded = ", ".join(f"{kind} {number}" for kind, number in told["recorded"].items()) or "none yet"
    yield f"tasks that can be done again: {recorded}; and {count(told['exercises'], 'exercise')}"
    if not told["work"]:
        yield f"Nothing was tried yet: kith coach run does, with {told['fewest']} of them for a kind of work."
    for work in told["work"]:
        yield ""
        champion = next((each for each in work["ways"] if each["id"] == work["champion"]), None)
        how = tell_levers(champion["levers"]) if champion else "with the default strategy"
        yield f"{work['model']}, {work['kind']}: asked {how}"
        original = work["original"]
        if original["live"]:
            yield f"  original   {original['live_solved']:.0f} of {original['live']:.0f} live tasks solved"
        for way in sorted(work["ways"], key=lambda each: -each["at"]):
            yield from _way_lines(way)


def _way_lines(way: dict[str, Any]) -> Iterator[str]:
    state = STATES.get(way["state"], way["state"])
    yield f"  {way['id']}   {state} since {day(way['at'])}: {tell_levers(way['levers'])}"
    if way["hypothesis"]:
        yield f"             because {way['hypothesis']} ({way['author']})"
    trials, why = way["trials"], "" if way["state"] == "proposed" else way["why"]
    told = f"{trials['wins']:.0f} won, {trials['losses']:.0f} lost in {count(int(trials['pairs']), 'pair')}"
    if trials["pairs"] and told not in why:
        yield f"             {told}"
    if why:
        yield f"             {why}"
    if way["live"] and way["state"] != "refused":
        yield f"             {way['live_solved']:.0f} of {way['live']:.0f} live tasks solved in all"
