"""`kith init`: notes for agents made from a scan, shown as a diff, written after a yes."""

import argparse
import sys

from kith.agent.project import Project
from kith.core.errors import EXIT_DONE, EXIT_REJECTED
from kith.core.event_loop import run_loop, run_until_signal
from kith.core.values import Changes
from kith.edits import summarise
from kith.features.scan.command import ProgressLine
from kith.features.scan.guide import keep_guide, propose_guide
from kith.memory.applied import short_id
from kith.terminal.console_screen import ConsoleScreen
from kith.terminal.options import find_root
from kith.terminal.show_change import show_changes
from kith.view.printing import printable


def init_command(args: argparse.Namespace) -> int:
    """Show what AGENTS.md would say, and write it once the person agrees."""
    project = Project.open(find_root(args.folder), {})
    project.check_writable()
    shown = ProgressLine(sys.stderr)
    try:
        changes = run_until_signal(propose_guide(project, shown.hear))
    finally:
        shown.close()
    if not changes:
        print("The notes for agents say all of it already.", file=sys.stderr)
        return EXIT_DONE
    asks = sys.stdin.isatty() and sys.stdout.isatty()
    agreed = run_loop(_ask(changes)) if asks and not args.yes else args.yes
    if not asks or args.yes:  # as it is, so that it can be used
        diff = "".join(file.diff for file in summarise(changes))
        sys.stdout.write(printable(diff) if sys.stdout.isatty() else diff)
        sys.stdout.flush()
    if not agreed:
        print(f"Nothing was written.{'' if asks else ' --write writes it.'}", file=sys.stderr)
        return EXIT_REJECTED
    applied, counts = run_loop(keep_guide(project, changes))
    how = "Every task here begins with it." if counts else "It counts once you trust this folder: kith trust"
    print(f"{printable(changes[0].path)} is written. {how}", file=sys.stderr)
    print(f"Take it back: kith undo {short_id(applied.change_id)}", file=sys.stderr)
    return EXIT_DONE


async def _ask(changes: Changes) -> bool:
    """The diff on the terminal, and the question."""
    from rich.console import Console

    screen = ConsoleScreen(Console(highlight=False))
    show_changes(screen, changes)
    return await screen.press(f"Write {printable(changes[0].path)}?  [y]es  [n]o", "yn") == "y"
