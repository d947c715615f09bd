"""`kith scan` and `kith init`: a codebase, said without a model, and notes for agents made from that."""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from msgspec import Struct

from kith.agent.project import Project
from kith.core.codec import encode
from kith.core.errors import EXIT_DONE, EXIT_REJECTED, UsageError
from kith.core.event_loop import run_loop, run_until_signal
from kith.core.events import Event, Notice, Progress
from kith.core.numbers import size_text
from kith.core.values import Changes
from kith.edits import summarise
from kith.features.scan.guide import keep_guide, propose_guide
from kith.features.scan.markdown import listed
from kith.features.scan.scan import NO_CODE, Patience, Report, Scanned, as_markdown, run_scan
from kith.memory.applied import short_id
from kith.terminal.console_screen import ConsoleScreen
from kith.terminal.options import find_root
from kith.terminal.show_change import show_changes
from kith.terminal.streams import is_lively, write_output
from kith.view.lines import WIDTH, count, paragraph
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


_LANGUAGES, _ENTRIES, _LAYOUT, _FEW = 6, 6, 20, 5  # lines of each part
_SHARE: Final = 0.02  # of all code; a language with less is not what a project is written in


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


# --- text ------------------------------------------------------------------------------------


def text_of(report: Report) -> Iterator[str]:
    """The report in lines of at most 80 columns, but for long names, which are never cut."""
    if not report.size.files:
        where = f"in {printable(report.folder)}" if report.folder else "here"
        yield f"There are no files {where}."
        return
    yield from _head(report)
    parts = (
        ("Languages", _languages(report)),
        ("Starts at", _entries(report)),
        ("Tests", _tests(report)),
        ("Layout", _layout(report)),
        ("Modules", _modules(report)),
        ("Complexity", _complexity(report)),
        ("Hot spots", _hotspots(report)),
        ("Duplicates", _duplicates(report)),
        ("Findings", _findings(report)),
    )
    for title, lines in parts:
        told = list(lines)
        if told:
            yield ""
            yield title
            yield from (f"  {printable(line)}" for line in told)


def _head(report: Report) -> Iterator[str]:
    name = printable(f"{report.name}/{report.folder}" if report.folder else report.name)
    written = [each for each in report.languages if each.name not in NO_CODE]
    least = _SHARE * sum(each.code for each in written)
    languages = [each.name for each in written if each.code >= least][:3]
    what = f"{listed(languages)}; " if languages else ""
    size = report.size
    lines = f"{size.lines:,} line{'s' * (size.lines != 1)}"
    files = f"{size.files:,} file{'s' * (size.files != 1)}"
    yield f"{name}: {what}{lines} in {files}, {size_text(size.bytes)}"
    odd = (("binary", size.binary), ("too large to read", size.unread), ("the same as another", size.copies))
    if any(number for _, number in odd):
        told = (f"{number:,} {'is' if number == 1 else 'are'} {word}" for word, number in odd if number)
        yield f"  of these {', '.join(told)}"


def _languages(report: Report) -> Iterator[str]:
    shown = report.languages[:_LANGUAGES]
    for each in shown:
        comment = f"{each.comment:>9,} comment" if each.comment else ""
        files = f"{each.files:>7,} {'files' if each.files != 1 else 'file '}"
        yield f"{each.name:<18}{files}{each.code:>11,} code{comment}"
    yield from _more(len(report.languages) - len(shown), "language")


def _entries(report: Report) -> Iterator[str]:
    for each in report.entries[:_ENTRIES]:
        start = f"{each.name} = {each.target}" if each.target else each.name
        if each.kind == "main":  # it has no name but its file's
            yield f"{each.kind:<8} {each.path}"
        else:
            yield from _placed(f"{each.kind:<8} {start:<36}", each.path)
    yield from _more(len(report.entries) - _ENTRIES, "way in", "ways in")


def _tests(report: Report) -> Iterator[str]:
    for each in report.toolchains:
        yield f"{each.name}: {each.why}"
        for word, line in (("configure", each.configure), ("build", each.build), ("test", each.test)):
            if line:
                yield f"  {word:<10} {line}"
    if report.size.tests:
        files = f"{report.size.tests:,} file{'s' * (report.size.tests != 1)} of tests"
        yield f"{files}, {report.size.test_lines:,} lines"
    if not report.toolchains:
        yield "nothing here says how tests are run"
    if report.covered.source:
        yield f"coverage {report.covered.share:.1%} of the lines, says {report.covered.source}"
    elif report.toolchains:
        yield "coverage not known: kith build measures it"


def _layout(report: Report) -> Iterator[str]:
    lines = report.layout.split("\n")
    yield from lines[:_LAYOUT]
    yield from _more(len(lines) - _LAYOUT, "line")


def _modules(report: Report) -> Iterator[str]:
    modules = report.modules
    if not modules.imports:
        return
    cycles = count(modules.knots, "cycle") if modules.knots else "no cycles"
    yield f"{modules.modules:,} modules, {modules.imports:,} imports between them, {cycles}"
    for cycle in modules.cycles[:_FEW]:
        more = f" (and {cycle.modules - len(cycle.way)} more)" if cycle.modules > len(cycle.way) else ""
        words = f"cycle: {' > '.join((*cycle.way, cycle.way[0]))}{more}"
        yield from paragraph(words, "", "  ", width=WIDTH - 2)
    yield from _more(modules.knots - _FEW, "cycle")
    if modules.most_used:
        yield "most others depend on"
        yield from (f"{each.by:>6,}  {each.path}" for each in modules.most_used[:_FEW])


def _complexity(report: Report) -> Iterator[str]:
    told = report.functions
    if not told.functions:
        return
    above = f"{told.above:,} of them above {told.limit}" if told.above else f"none above {told.limit}"
    yield f"{told.functions:,} functions and {told.types:,} types; cyclomatic complexity: {above}"
    for each in told.worst[:_FEW]:
        function = each.function
        words = f"{function.cyclomatic:>6}  {function.name}, {count(function.lines, 'line')},"
        yield from _placed(words, f"{each.path}:{function.first}")


def _hotspots(report: Report) -> Iterator[str]:
    if report.history.unknown:
        yield f"not known: {report.history.unknown}"
        return
    yield "commits in the last year, times complexity"
    for each in report.history.hotspots[:_FEW]:
        yield f"{each.commits:>6} x {each.complexity:<5,} {each.path}"


def _duplicates(report: Report) -> Iterator[str]:
    copied = report.copied
    if not copied.pairs:
        yield "none found"
        return
    pairs = "1 pair of places" if copied.pairs == 1 else f"{copied.pairs:,} pairs of places"
    yield f"{pairs}, {copied.lines:,} duplicated lines"
    for each in copied.longest[:_FEW]:
        place, other = each.place, each.other
        yield f"{each.lines:>6} lines  {place.path}:{place.first}"
        yield f"{'and':>12}  {other.path}:{other.first}"


def _findings(report: Report) -> Iterator[str]:
    linted = report.linted
    if linted.tools:
        told = f"{len(linted.findings):,}" if linted.findings else "none"
        yield f"{told} of {', '.join(linted.tools)}"
    rules = Counter((each.by, each.rule) for each in linted.findings)
    for (by, rule), number in rules.most_common(_FEW):
        first = next(each for each in linted.findings if (each.by, each.rule) == (by, rule))
        yield from _placed(f"{number:>6}  {by} {rule}, first in", f"{first.path}:{first.line}")
    yield from _more(len(rules) - _FEW, "rule")
    for problem in linted.problems:
        yield from paragraph(problem, "", "  ", width=WIDTH - 2)


def _more(number: int, noun: str, several: str = "") -> Iterator[str]:
    if number > 0:
        yield f"and {number:,} more {noun if number == 1 else several or noun + 's'}"


def _placed(words: str, place: str) -> Iterator[str]:
    """Words and where that is, on the next line where both do not fit on one; a path is never cut."""
    if len(words) + len(place) + 1 <= WIDTH - 2:
        yield f"{words} {place}"
    else:
        yield words.rstrip()
        yield f"        {place}"


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
