"""`kith sessions`: what was done, found again."""

import argparse
import json
import shutil
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from kith.agent.kept_trial import has_killed, waiting_sessions
from kith.core.errors import EXIT_DONE
from kith.core.feature import Lazy
from kith.core.run import short_session
from kith.memory.listing import Summary
from kith.memory.log import LOG_FILE, Log
from kith.settings import load_settings
from kith.terminal.options import find_root
from kith.view.lines import brief
from kith.view.printing import printable

_NARROW: Final = 80  # columns
_save_killed_in: Final[Lazy[Callable[[Path], None]]] = Lazy("kith.agent.waiting_changes:save_killed_in")


def sessions_command(args: argparse.Namespace) -> int:
    """One line a session, newest first."""
    root = find_root(args.folder)
    log = open_log(root)
    state, at_work = log.path.parent, log.open_ids()
    if has_killed(state, root, at_work):
        _save_killed_in.load()(root)
    found = log.sessions(None if args.all else root, args.most, words=" ".join(args.words))
    waiting = {*waiting_sessions(state)}.difference(at_work)
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
    id, when = short_session(summary.id), date_of(summary.at)[5:] if narrow else date_of(summary.at)
    fork = "  (fork)" if narrow else f"  (fork of {short_session(summary.source)})"
    fork = fork if summary.source else ""
    where = f"  {printable(summary.root)}" if everywhere else ""
    head, tail = f"{id}  {when}  {summary.status:11} ", f"{fork}{'  (waits)' if waits else ''}{where}"
    print(f"{head}{brief(summary.title, len(head) + len(tail), 16)}{tail}")


def open_log(root: Path) -> Log:
    """The log; what came of mending it is said."""
    log = Log(load_settings(root, {}).state / LOG_FILE)
    if log.mended:
        print(f"kith: {printable(log.mended)}", file=sys.stderr)
    return log


def date_of(at: float) -> str:
    """The day and the time."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
