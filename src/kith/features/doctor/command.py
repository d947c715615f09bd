"""Show `kith doctor` on the screen: problems and their fixes, and attempts to escape the sandbox."""

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import groupby
from typing import TYPE_CHECKING, Final, TextIO

from msgspec.structs import asdict

from kith.core.errors import EXIT_DONE, EXIT_FAILED, TreeError
from kith.core.event_loop import run_loop
from kith.core.events import Progress
from kith.features.doctor.check import Check, Level
from kith.features.doctor.examine import examine
from kith.settings import load_settings
from kith.terminal.options import find_root
from kith.terminal.streams import is_lively
from kith.terminal.terminal import PlainVoice, TerminalVoice
from kith.view.lines import count
from kith.view.printing import printable

if TYPE_CHECKING:
    from kith.features.doctor.sandbox import EscapeOutcome


# `kith doctor --sandbox` on the screen: each attempt to get out of the sandbox, and whether it was
# held.

_TRIED: Final = 42  # columns
_WHERE: Final = 10 + _TRIED  # where the reason begins
_WIDEST: Final = 100
_NARROWEST_OUTCOME: Final = 72


def sandbox_command(args: argparse.Namespace) -> int:
    """Try to get out; the exit code is 1 when something did, or when there is no sandbox."""
    from kith.features.doctor.sandbox import try_sandbox

    settings = load_settings(find_root(args.folder), {})
    told: list[EscapeOutcome] = []

    def tell(outcome: "EscapeOutcome") -> None:
        told.append(outcome)
        if not args.json:
            show_outcome(outcome, told)

    fault = ""
    try:
        run_loop(try_sandbox(settings, tell))
    except TreeError as error:
        fault = str(error)
    escaped = sum(not outcome.held for outcome in told)
    if args.json:
        print(json.dumps({"fault": fault, "escaped": escaped, "attempts": [*map(_row, told)]}, indent=2))
    elif fault:
        print(fault, file=sys.stderr)
    else:
        held = f"{len(told) - escaped} of {count(len(told), 'attempt')} to escape the sandbox were blocked."
        print(f"\n{held}" + f" {escaped} ESCAPED." * bool(escaped))
        if settings.sandbox in ("off", "outside"):
            print(
                f'Yet kith runs commands without a sandbox here: sandbox = "{settings.sandbox}".',
                file=sys.stderr,
            )
    return EXIT_FAILED if escaped or fault else EXIT_DONE


def show_outcome(outcome: "EscapeOutcome", told: Sequence["EscapeOutcome"]) -> None:
    """One attempt; the first of a topic has the topic above it."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    topic = outcome.attempt.topic
    if sum(each.attempt.topic == topic for each in told) == 1:
        console.print(Text(f"{topic}", style="bold"))
    word = Text("held" if outcome.held else "ESCAPED", style="green" if outcome.held else "bold red")
    width = max(_NARROWEST_OUTCOME, min(_WIDEST, shutil.get_terminal_size().columns)) - _WHERE
    first, *rest = textwrap.wrap(printable(outcome.why), width, max_lines=3, placeholder=" …") or [""]
    console.print(Text(" " * (8 - len(word))), word, f"  {outcome.attempt.tried:<{_TRIED}}{first}", sep="")
    for line in rest:
        console.print(" " * _WHERE + line, markup=False)


def _row(outcome: "EscapeOutcome") -> dict[str, str | bool]:
    attempt = outcome.attempt
    return {"topic": attempt.topic, "tried": attempt.tried, "held": outcome.held, "why": outcome.why}


WORDS: Final[dict[Level, str]] = {"green": "ok", "yellow": "note", "red": "wrong"}
STYLES: Final[dict[Level, str]] = {"green": "green", "yellow": "yellow", "red": "bold red"}
_INDENT: Final = 22  # columns of the word and the name
_NARROWEST: Final = 50


def doctor_command(args: argparse.Namespace) -> int:
    """Examine everything and show it; the exit code is 1 when something is red."""
    if args.sandbox:
        return sandbox_command(args)
    voice = TerminalVoice() if is_lively(sys.stderr) else PlainVoice()
    if args.deep:
        voice.hear(Progress("asking the models, which may load one first", 0), ())
    with closing(voice):
        checks = run_loop(examine(find_root(args.folder), {"offline": args.offline}, deep=args.deep))
    if args.json:
        print(json.dumps({"level": worst(checks), "checks": [asdict(check) for check in checks]}, indent=2))
    else:
        show_checks(checks, sys.stdout)
    return EXIT_FAILED if worst(checks) == "red" else EXIT_DONE


def worst(checks: Sequence[Check]) -> Level:
    """The level of the whole."""
    levels = {check.level for check in checks}
    return "red" if "red" in levels else "yellow" if "yellow" in levels else "green"


def show_checks(checks: Sequence[Check], stream: TextIO) -> None:
    """The checks as lines of a word, a name and a sentence; coloured where the stream is a terminal."""
    from rich.console import Console
    from rich.text import Text

    width = max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns))
    console = Console(file=stream, highlight=False, soft_wrap=True)
    for level, name, line in lines_of(checks, width):
        word = Text(f"{WORDS[level] if level else '':>6}  ", style=STYLES[level] if level else "")
        console.print(word, f"{name:<13} ", line, sep="", markup=False)
    console.print()
    console.print(Text(summary(checks), style=STYLES[worst(checks)]))


def lines_of(checks: Sequence[Check], width: int) -> Iterator[tuple[Level | None, str, str]]:
    """Each line as its level and name, where they are said, and its text; commands are never broken."""
    for name, group in groupby(checks, key=lambda check: check.name):
        title = printable(name)
        for check in group:
            words = printable(check.text)
            wrapped = textwrap.wrap(words, width - _INDENT, break_long_words=False, break_on_hyphens=False)
            for number, line in enumerate(wrapped):
                yield (check.level if number == 0 else None, title if number == 0 else "", line)
                title = ""
            if check.fix:
                yield None, "", f"> {printable(check.fix)}"


def summary(checks: Sequence[Check]) -> str:
    """All of it in one line."""
    wrong = sum(check.level == "red" for check in checks)
    notes = sum(check.level == "yellow" for check in checks)
    if not wrong and not notes:
        return "All is well."
    parts = [f"{wrong} wrong" * bool(wrong), count(notes, "note") * bool(notes)]
    parts.append(f"{len(checks) - wrong - notes} ok")
    return f"{', '.join(filter(None, parts))}. Fixes are shown after >."
