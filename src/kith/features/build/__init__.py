"""A request becomes tested code: roles propose, tests decide, and a table says what comes next."""

import argparse

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import (
    FORMATS,
    add_folder,
    add_template,
    add_work,
    add_yes,
    number,
    positive,
    some_id,
)

_here = lazy_in(__name__)

FEATURE = Feature(
    "build",
    "from a request to tested code: roles propose, tests decide",
    needs=("measure", "testgen"),
    extends={"measure": _here("profile:PART"), "web": _here("page:PART")},
    status=_here("command:STATUS"),
    commands=(
        Command(
            "build",
            "Turn a request into tested code",
            Lazy(f"{__name__}:build_arguments"),
            _here("command:build_command"),
            "[REQUEST ...]",
            group="Change code",
        ),
        Command(
            "log",
            "Print the steps of a build",
            Lazy(f"{__name__}:log_arguments"),
            _here("steps:log_command"),
            "[ID]",
            group="Look back",
        ),
    ),
    kinds={"build": _here("builds:SESSION_KIND")},
)


# The options of its commands.


def build_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("task", nargs="*", metavar="REQUEST", help="what to build; text piped in is added")
    add_template(parser)
    add_yes(parser, "agree to the tasks, and apply without asking")
    add("--max-retries", type=number, metavar="N", help="tries of a task after its first (3)")
    add("--coverage", type=percent, metavar="PERCENT", help="lines that tests must run; 0: not measured")
    add("--no-refine", dest="refine", action="store_const", const=False, help="skip the final refinement")
    add("--commit", dest="auto_commit", action="store_const", const=True, help="commit what was applied")
    add("--step-seconds", type=positive, metavar="N", help="seconds that one step may take (1800)")
    add("--step-tokens", type=positive, metavar="N", help="tokens that one step may use")
    add("--output-format", choices=FORMATS, default="text", help="what goes to stdout (text)")
    add(
        "--resume",
        type=some_id,
        nargs="?",
        const="last",
        metavar="ID",
        help="resume an unfinished build (the last one)",
    )
    parser.set_defaults(prompt=None, plan="no", read_only=None)
    add_work(parser, builds=True)


def log_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument(
        "id", type=some_id, nargs="?", metavar="ID", help="the build's session (the last one)"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def percent(text: str) -> float:
    """From 0 to 100, with or without its sign."""
    try:
        share = float(text.removesuffix("%"))
    except ValueError:
        share = -1.0
    if not 0 <= share <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 100")
    return share
