"""`kith sessions`: what was done, found again, copied from a turn on, named, and forgotten for good."""

import argparse
import json
import shutil
import sys
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Final

from kith.agent.waiting_list import waiting_sessions
from kith.core.errors import EXIT_DONE, EXIT_REJECTED, UsageError
from kith.core.loops import run_loop
from kith.memory.listing import Summary
from kith.memory.log import LOG_FILE, Log
from kith.settings import load_settings
from kith.terminal.folder import find_root
from kith.view.lines import brief, count
from kith.view.printing import printable

_NARROW: Final = 80  # columns
_SHORT: Final = 6  # characters of an id that people type


def sessions_command(args: argparse.Namespace) -> int:
    """One line a session, newest first."""
    root = find_root(args.folder)
    log = _open_log(root)
    found = log.sessions(None if args.all else root, args.most, words=" ".join(args.words))
    waiting = {*waiting_sessions(log.path.parent)} - {*log.open_ids()}
    if args.json:
        rows = [asdict(each) | {"waiting": each.id in waiting} for each in found]
        print(json.dumps(rows, indent=2))
        return EXIT_DONE
    for each in found:
        _print_row(each, args.all, each.id in waiting)
    if not found:
        place = "anywhere" if args.all else f"in {printable(str(root))}"
        words = f" with {printable(' '.join(args.words))}" if args.words else ""
        print(f"No sessions{words} {place}{'' if words else ' yet'}.", file=sys.stderr)
    return EXIT_DONE


def _print_row(summary: Summary, everywhere: bool, waits: bool) -> None:
    """A session in a line; a narrow terminal gets shorter words, a pipe always the same."""
    narrow = sys.stdout.isatty() and shutil.get_terminal_size().columns < _NARROW
    id, when = (summary.id[:_SHORT], _when(summary.at)[5:]) if narrow else (summary.id, _when(summary.at))
    fork = "  (fork)" if narrow else f"  (fork of {summary.source[:_SHORT]})"
    fork = fork if summary.source else ""
    where = f"  {printable(summary.root)}" if everywhere else ""
    head, tail = f"{id}  {when}  {summary.status:11} ", f"{fork}{'  (waits)' if waits else ''}{where}"
    print(f"{head}{brief(summary.title, len(head) + len(tail), 16)}{tail}")


def turns_command(args: argparse.Namespace) -> int:
    """What was said in a session, turn by turn."""
    from kith.memory.turns import turns

    log = _open_log(find_root(args.folder))
    session = log.find(args.id)
    found = turns(log, session)
    if args.json:
        print(json.dumps([asdict(each) for each in found], indent=2))
        return EXIT_DONE
    for each in found:
        head = f"{each.number:3}  {_when(each.at)}  {each.status or 'copied':11} "
        files = f"  ({count(len(each.files), 'file')})" if each.files else ""
        print(f"{head}{brief(each.words, len(head) + len(files), 16)}{files}")
    if not found:
        print("Nobody has said anything in it.", file=sys.stderr)
    _tell_damage(log, session)
    return EXIT_DONE


def fork_command(args: argparse.Namespace) -> int:
    """Copy a conversation, up to a turn if one is named."""
    from kith.agent.forks import fork, go_back
    from kith.agent.project import Project

    if args.files and not args.before:
        raise UsageError("--files goes with --before: it takes back what was applied since then.")
    project = Project.open(find_root(args.folder), {})
    session = project.log.find(args.id)
    if args.files:
        made = run_loop(go_back(project, session, args.before))
    else:
        made = fork(project, session, args.before)
    for undone in made.undone:
        for file in undone.files:
            print(f"{printable(file.path)}  +{file.added} -{file.removed}", file=sys.stderr)
    print(made.id)
    print(f"To go on with it: kith -r {made.id}", file=sys.stderr)
    return EXIT_DONE


def rename_command(args: argparse.Namespace) -> int:
    """Give a session a name."""
    from kith.agent.conversations import rename
    from kith.agent.project import Project

    project = Project.open(find_root(args.folder), {})
    session = project.log.find(args.id)
    print(f"{session} is called {printable(rename(project, session, ' '.join(args.title)))}.")
    return EXIT_DONE


def delete_command(args: argparse.Namespace) -> int:
    """Forget sessions for good."""
    from kith.agent.conversations import forget

    settings = load_settings(find_root(args.folder), {})
    log = Log(settings.state / LOG_FILE)
    wanted = list(dict.fromkeys(log.find(each) for each in args.ids))
    if not args.yes and not _agreed(log, wanted):
        return EXIT_REJECTED
    for session in wanted:
        others = forget(settings, log, session)
        with_it = (
            f", and {count(len(others), 'session')} in which its changes were taken back" if others else ""
        )
        print(f"{session} is gone{with_it}.")
    return EXIT_DONE


def _agreed(log: Log, wanted: list[str]) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("Nobody can be asked here; --yes forgets without a question.")
    for each in log.sessions(None, 0, wanted):
        print(f"{each.id}  {_when(each.at)}  {brief(each.title, 32)}")
    print("What they changed stays in your files, and can be undone no more.")
    return input(f"Forget {count(len(wanted), 'session')} for good? [y/N] ").strip().lower() in ("y", "yes")


def _open_log(root: Path) -> Log:
    """The log; what came of mending it is said."""
    log = Log(load_settings(root, {}).state / LOG_FILE)
    if log.mended:
        print(f"kith: {printable(log.mended)}", file=sys.stderr)
    return log


def _tell_damage(log: Log, session: str) -> None:
    from kith.agent.conversations import tell_damage

    if words := tell_damage(log, session):
        print(f"kith: {words}", file=sys.stderr)


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
