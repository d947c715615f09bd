"""`kith doctor --sandbox` on the screen: each attempt to get out of the sandbox, and whether it was held."""

import argparse
import json
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kith.core.errors import EXIT_DONE, EXIT_FAILED, TreeError
from kith.core.loops import run_loop
from kith.settings import load_settings
from kith.terminal.folder import find_root
from kith.view.lines import count
from kith.view.printing import printable

if TYPE_CHECKING:
    from kith.features.doctor.sandbox import Outcome

_TRIED: Final = 42  # columns
_WHERE: Final = 10 + _TRIED  # where the reason begins
_WIDEST: Final = 100
_NARROWEST: Final = 72


def sandbox_command(args: argparse.Namespace) -> int:
    """Try to get out; the exit code is 1 when something did, or when there is no sandbox."""
    from kith.features.doctor.sandbox import try_sandbox

    settings = load_settings(find_root(args.folder), {})
    told: list[Outcome] = []

    def tell(outcome: "Outcome") -> None:
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
        held = f"{len(told) - escaped} of {count(len(told), 'attempt')} to get out of the sandbox were held."
        print(f"\n{held}" + f" {escaped} ESCAPED." * bool(escaped))
        if settings.sandbox in ("off", "outside"):
            print(f'Yet kith runs commands without it here: sandbox = "{settings.sandbox}".', file=sys.stderr)
    return EXIT_FAILED if escaped or fault else EXIT_DONE


def show_outcome(outcome: "Outcome", told: Sequence["Outcome"]) -> None:
    """One attempt; the first of a topic has the topic above it."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    topic = outcome.attempt.topic
    if sum(each.attempt.topic == topic for each in told) == 1:
        console.print(Text(f"{topic}", style="bold"))
    word = Text("held" if outcome.held else "ESCAPED", style="green" if outcome.held else "bold red")
    width = max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns)) - _WHERE
    first, *rest = textwrap.wrap(printable(outcome.why), width, max_lines=3, placeholder=" …") or [""]
    console.print(Text(" " * (8 - len(word))), word, f"  {outcome.attempt.tried:<{_TRIED}}{first}", sep="")
    for line in rest:
        console.print(" " * _WHERE + line, markup=False)


def _row(outcome: "Outcome") -> dict[str, str | bool]:
    attempt = outcome.attempt
    return {"topic": attempt.topic, "tried": attempt.tried, "held": outcome.held, "why": outcome.why}
