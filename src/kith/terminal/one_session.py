"""`kith sessions turns|fork|rename|delete`: one session's turns, a copy of it, its name, and its end."""

import argparse
import json
import sys

from msgspec.structs import asdict

from kith.agent.conversations import forget, fork, go_back, rename, tell_damage
from kith.agent.project import Project
from kith.core.errors import EXIT_DONE, EXIT_REJECTED, UsageError
from kith.core.event_loop import run_loop
from kith.core.run import short_session
from kith.memory.log import LOG_FILE, Log
from kith.memory.turns import turns
from kith.settings import load_settings
from kith.terminal.options import find_root
from kith.terminal.sessions import date_of, open_log
from kith.view.lines import brief, count
from kith.view.printing import on_one_line, printable


def turns_command(args: argparse.Namespace) -> int:
    """Print the turns of a session."""
    log = open_log(find_root(args.folder))
    session = log.find(args.id)
    found = turns(log, session)
    if args.json:
        print(json.dumps([asdict(each) for each in found], indent=2))
        return EXIT_DONE
    for each in found:
        head = f"{each.number:3}  {date_of(each.at)}  {each.status or 'copied':11} "
        files = f"  ({count(len(each.files), 'file')})" if each.files else ""
        print(f"{head}{brief(each.words, len(head) + len(files), 16)}{files}")
    if not found:
        print("Nobody has said anything in it.", file=sys.stderr)
    _tell_damage(log, session)
    return EXIT_DONE


def fork_command(args: argparse.Namespace) -> int:
    """Copy a conversation, up to a turn if one is named."""
    if args.files and not args.before:
        raise UsageError("--files goes with --before: it undoes what was applied since then.")
    project = Project.open(find_root(args.folder), {})
    session = project.log.find(args.id)
    if args.files:
        made = run_loop(go_back(project, session, args.before))
    else:
        made = fork(project, session, args.before)
    for undone in made.undone:
        for file in undone.files:
            print(f"{on_one_line(file.path)}  +{file.added} -{file.removed}", file=sys.stderr)
    print(made.id)
    print(f"To continue: kith -r {short_session(made.id)}", file=sys.stderr)
    return EXIT_DONE


def rename_command(args: argparse.Namespace) -> int:
    """Give a session a name."""
    project = Project.open(find_root(args.folder), {})
    session = project.log.find(args.id)
    print(f"{short_session(session)} is called {printable(rename(project, session, ' '.join(args.title)))}.")
    return EXIT_DONE


def delete_command(args: argparse.Namespace) -> int:
    """Forget sessions for good."""
    settings = load_settings(find_root(args.folder), {})
    log = Log(settings.state / LOG_FILE)
    wanted = list(dict.fromkeys(log.find(each) for each in args.ids))
    if not args.yes and not _agreed(log, wanted):
        return EXIT_REJECTED
    for session in wanted:
        others = forget(settings, log, session)
        with_it = f", and {count(len(others), 'session')} in which its changes were undone" if others else ""
        print(f"{short_session(session)} is gone{with_it}.")
    return EXIT_DONE


def _agreed(log: Log, wanted: list[str]) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("Nobody can be asked here; --yes forgets without a question.")
    for each in log.sessions(None, 0, wanted):
        print(f"{short_session(each.id)}  {date_of(each.at)}  {brief(each.title, 32)}")
    print("What they changed stays in your files, and can be undone no more.")
    return input(f"Forget {count(len(wanted), 'session')} for good? [y/N] ").strip().lower() in ("y", "yes")


def _tell_damage(log: Log, session: str) -> None:
    if words := tell_damage(log, session):
        print(f"kith: {words}", file=sys.stderr)
