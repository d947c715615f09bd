"""`kith scan` and `kith init`: a codebase, said without a model, and notes for agents made from that."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING

from msgspec import Struct

from kith.agent.project import Project
from kith.core.codec import encode
from kith.core.errors import EXIT_DONE, EXIT_REJECTED, UsageError
from kith.core.event_loop import run_loop, run_until_signal
from kith.core.events import Event, Notice, Progress
from kith.core.values import Changes
from kith.edits import summarise
from kith.features.scan.checks import Patience
from kith.features.scan.document import as_markdown, text_of
from kith.features.scan.guide import keep_guide, propose_guide
from kith.features.scan.scan import Scanned, run_scan
from kith.memory.applied import short_id
from kith.terminal.console_screen import ConsoleScreen
from kith.terminal.options import find_root
from kith.terminal.show_change import show_changes
from kith.terminal.streams import is_lively, write_output
from kith.view.printing import printable
from kith.view.wording import note_line

if TYPE_CHECKING:
    from rich.status import Status


# Show a scan's progress: one line on a terminal, and nothing anywhere else.

_BAR = 16  # columns
_SOON_S = 3.0  # seconds after which the time that is left can be told


class ProgressLine(Struct):
    """A line that is drawn again and again, and taken away at the end; notices stay."""

    stream: IO[str]
    clock: Callable[[], float] = time.monotonic
    _status: "Status | None" = None
    _what: str = ""
    _since: float = 0.0

    def hear(self, event: Event) -> None:
        if isinstance(event, Notice):
            print(printable(note_line(event)[1]), file=self.stream, flush=True)
        elif isinstance(event, Progress) and is_lively(self.stream):
            if event.what != self._what:
                self._what, self._since = event.what, self.clock()
            self._show(progress_line(event, self.clock() - self._since))

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _show(self, line: str) -> None:
        from rich.console import Console
        from rich.text import Text

        text = Text(line, no_wrap=True, overflow="ellipsis")
        if self._status is None:
            console = Console(file=self.stream, highlight=False)
            self._status = console.status(text, spinner="dots")
            self._status.start()
        else:
            self._status.update(text)


def progress_line(event: Progress, seconds: float) -> str:
    """`looking at files  ━━━━╌╌╌╌  5,120 of 20,000, about 24 s left`, or only what goes on."""
    if not event.total:
        return event.what
    bar = "━" * (_BAR * event.done // event.total)
    left = ""
    if event.done and seconds >= _SOON_S:
        left = f", about {seconds * (event.total - event.done) / event.done:.0f} s left"
    return f"{event.what}  {bar:╌<{_BAR}}  {event.done:,} of {event.total:,}{left}"


def scan_command(args: argparse.Namespace) -> int:
    """Look at the project and print what it is on stdout; how far that is goes to stderr."""
    if args.lint and args.no_lint:
        raise UsageError("Either --lint or --no-lint.")
    start = Path(args.folder if args.folder != "." or not args.path else args.path)
    project = Project.open(find_root(str(start.parent if start.is_file() else start)), {})
    shown = ProgressLine(sys.stderr)
    patience = Patience(lint=not args.no_lint, patient=args.lint)
    path = str(Path(args.folder, args.path)) if args.path else ""
    with closing(shown):
        scanned = run_until_signal(run_scan(project, path, patience, shown.hear))
    if args.svg:
        write_output(Path(args.svg), scanned.picture())
    _print(scanned, args)
    return EXIT_DONE


def _print(scanned: Scanned, args: argparse.Namespace) -> None:
    if args.json:
        print(json.dumps(encode(scanned.report), indent=2))
    elif args.md:
        print(as_markdown(scanned.report), end="")
    else:
        for line in text_of(scanned.report):
            print(line)
    if args.svg:
        print(f"The picture is in {printable(args.svg)}.", file=sys.stderr)


# `kith init`: notes for agents made from a scan, shown as a diff, written after a yes.


def init_command(args: argparse.Namespace) -> int:
    """Show what AGENTS.md would say, and write it once the person agrees."""
    project = Project.open(find_root(args.folder), {})
    project.check_writable()
    shown = ProgressLine(sys.stderr)
    with closing(shown):
        changes = run_until_signal(propose_guide(project, shown.hear))
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
    print(f"Undo: kith undo {short_id(applied.change_id)}", file=sys.stderr)
    return EXIT_DONE


async def _ask(changes: Changes) -> bool:
    """The diff on the terminal, and the question."""
    from rich.console import Console

    screen = ConsoleScreen(Console(highlight=False))
    show_changes(screen, changes)
    return await screen.press(f"Write {printable(changes[0].path)}?  [y]es  [n]o", "yn") == "y"
