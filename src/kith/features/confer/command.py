"""`kith confer`: several models propose, claim and revise while you watch; tools and tests decide."""

import argparse
import json
import sys
from functools import partial
from typing import Any

from kith.agent.project import Project
from kith.core.codec import encode
from kith.core.errors import EXIT_DONE, UsageError
from kith.core.run import Answerer
from kith.features.confer.councils import Conferred, Motion, run_confer
from kith.features.confer.hurry import run_until_decided
from kith.features.confer.listening import PlainCouncil, TerminalCouncil
from kith.features.confer.remembered import Minutes, read_minutes
from kith.features.confer.speakers import show_minutes
from kith.terminal.arguments import settings_flags
from kith.terminal.folder import find_root
from kith.terminal.report import print_receipt, print_waiting
from kith.terminal.terminal import yes_to_changes
from kith.view.lines import wrapped
from kith.view.printing import printable


def confer_command(args: argparse.Namespace) -> int:
    """Hold a council and print its decision on stdout; what is said streams to stderr."""
    project = Project.open(find_root(args.folder), settings_flags(args))
    if args.show is not None:
        return show_command(project, args.show, as_json=args.json)
    if args.yes and not args.apply:
        raise UsageError("--yes answers the question of --apply; without that nothing is asked.")
    question = " ".join(args.question).strip()
    if not question:
        raise UsageError('What is it about? For example: kith confer "where should the cache live?"')
    voice = TerminalCouncil() if sys.stderr.isatty() and not args.json else PlainCouncil()
    interactive = sys.stdin.isatty() and sys.stderr.isatty() and not args.json
    answerer = voice.answer if interactive else PlainCouncil().answer
    motion = Motion(question, names_of(args.models), args.judge or "", args.apply)
    told = hold(project, motion, voice, yes_to_changes(answerer) if args.yes else answerer)
    if args.json:
        print(json.dumps(as_json(told), indent=2))
    else:
        _print_text(told, args.apply)
    return told.result.code


def hold(
    project: Project, motion: Motion, voice: PlainCouncil | TerminalCouncil, answerer: Answerer
) -> Conferred:
    """A council before somebody's eyes; Ctrl-C once decides now, twice stops (SystemExit)."""
    work = partial(run_confer, project, motion, answerer, [voice.hear])
    try:
        return run_until_decided(lambda hurry: work(hurry), voice.tell)
    finally:
        voice.close()


def names_of(text: str | None) -> tuple[str, ...]:
    """The models of `--models A,B`."""
    return tuple(filter(None, (name.strip() for name in (text or "").split(","))))


def show_command(project: Project, id: str, *, as_json: bool) -> int:
    """`--show ID`: the councils of a session, as they were. Raises UsageError where there is none."""
    session = project.log.find(id)
    councils = read_minutes(record.event for record in project.log.events(session))
    if not councils:
        raise UsageError(f"Nobody conferred in session {session}.")
    if as_json:
        print(json.dumps([_minutes_json(each) for each in councils.values()], indent=2))
        return EXIT_DONE
    from rich.console import Console

    console = Console(highlight=False)
    for each in councils.values():
        show_minutes(each, lambda text, style="": console.print(text, style=style, markup=False))
    return EXIT_DONE


def as_json(told: Conferred) -> dict[str, Any]:
    """A council as plain data."""
    report, minutes = told.result.report, told.minutes
    kept = ("status", "text", "session", "applied", "waiting", "changes", "usage")
    return {key: report[key] for key in kept} | (_minutes_json(minutes) if minutes else {})


def _minutes_json(minutes: Minutes) -> dict[str, Any]:
    concluded = minutes.concluded
    said = [
        {"who": who, "role": what.role, "text": what.text, "whole": what.complete}
        for who, what in minutes.said
        if not hasattr(what, "check")
    ]
    return {
        "council": minutes.id,
        "kind": minutes.kind,
        "question": minutes.question,
        "members": minutes.members,
        "said": said,
        "claims": [encode(claim) for claim in minutes.claims],
        "choice": concluded.choice if concluded else "",
        "by": concluded.by if concluded else "",
        "decision": concluded.text if concluded else "",
        "figures": concluded.figures if concluded else {},
    }


def _print_text(told: Conferred, applying: bool) -> None:
    report = told.result.report
    if report["status"] == "done":
        print(wrapped(printable(report["text"]), sys.stdout))
    else:
        print(wrapped(f"kith: {printable(report['text'])}", sys.stderr), file=sys.stderr)
    if applying and report["changes"]:
        print_receipt(report)
    print_waiting(report)
    if told.minutes:
        print(f"Again: kith confer --show {report['session'][:6]}", file=sys.stderr)
