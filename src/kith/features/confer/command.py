"""`kith confer`: several models propose, claim and revise while you watch; Ctrl-C once makes them decide."""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from kith.agent.project import Project
from kith.core.codec import encode
from kith.core.errors import EXIT_DONE, UsageError
from kith.core.event_loop import hangups, once, run_loop
from kith.core.run import Answerer
from kith.features.confer.council_lines import show_minutes
from kith.features.confer.history import Minutes, read_minutes
from kith.features.confer.live_view import PlainCouncil, TerminalCouncil
from kith.features.confer.session import Conferred, Motion, run_confer
from kith.terminal.options import find_root, settings_flags
from kith.terminal.report import print_receipt, print_waiting
from kith.terminal.terminal import yes_to_changes
from kith.view.lines import wrapped
from kith.view.printing import printable

# Work that a person can hurry: Ctrl-C once asks it to decide with what is there, twice ends it.

T = TypeVar("T")
HURRIED = "Deciding now; Ctrl-C again stops."


def run_until_decided(
    make: Callable[[asyncio.Event], Coroutine[Any, Any, T]], tell: Callable[[str], None]
) -> T:
    """Run the work that `make` makes, given the event that is set when the person is in a hurry.

    The exit codes are the shell's: 130 after two interrupts, 143 and 129 when it was told to end.
    """
    ended_by = signal.SIGINT

    async def guarded() -> T:
        hurry, task, loop = asyncio.Event(), asyncio.current_task(), asyncio.get_running_loop()

        def interrupt() -> None:
            if hurry.is_set() and task:
                task.cancel()
            elif not hurry.is_set():
                hurry.set()
                tell(HURRIED)

        def stop(number: signal.Signals) -> None:
            nonlocal ended_by
            ended_by = number
            if task:
                task.cancel()

        if sys.platform == "win32":
            signal.signal(signal.SIGINT, lambda number, frame: loop.call_soon_threadsafe(interrupt))
        else:
            loop.add_signal_handler(signal.SIGINT, interrupt)
            heard = once(stop)
            for number in (signal.SIGTERM, *hangups()):
                loop.add_signal_handler(number, heard, number)
        return await make(hurry)

    try:
        return run_loop(guarded())
    except asyncio.CancelledError:
        raise SystemExit(128 + ended_by) from None


def confer_command(args: argparse.Namespace) -> int:
    """Hold a council and print its decision on stdout; what is said streams to stderr."""
    project = Project.open(find_root(args.folder), settings_flags(args))
    if args.show is not None:
        return show_command(project, args.show, as_json=args.json)
    if args.yes and not args.apply:
        raise UsageError("--yes works only with --apply.")
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
    with closing(voice):
        return run_until_decided(lambda hurry: work(hurry), voice.tell)


def names_of(text: str | None) -> tuple[str, ...]:
    """The models of `--models A,B`."""
    return tuple(filter(None, (name.strip() for name in (text or "").split(","))))


def show_command(project: Project, id: str, *, as_json: bool) -> int:
    """`--show ID`: the councils of a session, as they were. Raises UsageError where there is none."""
    session = project.log.find(id)
    councils = read_minutes(record.event for record in project.log.events(session))
    if not councils:
        raise UsageError(f"Session {session} has no council.")
    if as_json:
        print(json.dumps([_minutes_json(each) for each in councils.values()], indent=2))
        return EXIT_DONE
    from rich.console import Console

    console = Console(highlight=False)
    for each in councils.values():
        show_minutes(each, lambda text, style: console.print(text, style=style, markup=False))
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
