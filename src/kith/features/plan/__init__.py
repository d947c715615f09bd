"""Find the files that a task needs, and say why, without a model."""

import argparse

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_folder, positive

_here = lazy_in(__name__)


def plan_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("task", nargs="?", metavar="TASK", help="what is to be done, in your words")
    add("--limit", type=positive, default=10, metavar="N", help="show at most N files (10)")
    add("--measure", action="store_true", help="rank your own commits' messages: how often are files found?")
    add("--json", action="store_true", help="print JSON")


FEATURE = Feature(
    "plan",
    "the files that a task needs, without a model",
    commands=(
        Command(
            "plan",
            "Show the files a task needs",
            Lazy(f"{__name__}:plan_arguments"),
            _here("command:plan_command"),
            "TASK",
            group="Look back",
        ),
    ),
)
