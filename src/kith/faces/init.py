"""`kith init`: notes for agents made from a scan, shown as a diff, written after a yes."""

import argparse
import asyncio
import sys

from kith.app.guide import keep_guide, propose_guide
from kith.app.project import Project
from kith.core.errors import EXIT_DONE, EXIT_REJECTED
from kith.core.values import Changes
from kith.edits import summarise
from kith.faces.folder import find_root
from kith.faces.lines import printable
from kith.faces.scanning import Shown
from kith.faces.signals import run_until_signal
from kith.memory.applied import short_id


def init_command(args: argparse.Namespace) -> int:
    """Show what AGENTS.md would say, and write it once the person agrees."""
    project = Project.open(find_root(args.folder), {})
    project.check_writable()
    shown = Shown(sys.stderr)
    try:
        changes = run_until_signal(propose_guide(project, shown.hear))
    finally:
        shown.close()
    if not changes:
        print("The notes for agents say all of it already.")
        return EXIT_DONE
    _show(changes)
    if not args.yes and not _agree(changes[0].path):
        print("Nothing was written." + ("" if sys.stdin.isatty() else " --write writes it."), file=sys.stderr)
        return EXIT_REJECTED
    applied, counts = asyncio.run(keep_guide(project, changes))
    sys.stdout.flush()
    how = "Every task here begins with it." if counts else "It counts once you trust this folder: kith trust."
    print(f"{changes[0].path} is written. {how}", file=sys.stderr)
    print(f"Take it back: kith undo {short_id(applied.change_id)}", file=sys.stderr)
    return EXIT_DONE


def _show(changes: Changes) -> None:
    """As a diff with colours on a terminal, byte for byte elsewhere."""
    diff = "".join(file.diff for file in summarise(changes))
    if not sys.stdout.isatty():
        sys.stdout.write(diff)
        return
    from rich.console import Console

    from kith.faces.prompts import ConsoleScreen
    from kith.faces.questions import print_diff

    print_diff(ConsoleScreen(Console(highlight=False)), diff)


def _agree(path: str) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    answer = input(f"\nWrite {printable(path)}? [y/n] ")
    return answer.strip().lower() in ("y", "yes")
