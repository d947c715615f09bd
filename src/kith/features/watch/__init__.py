"""Do what a comment asks that is saved in a file: `AI!` is a task, `AI?` a question."""

import argparse

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_system, add_work, add_yes

_here = lazy_in(__name__)


def watch_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    beside = "answer AI? in a comment in its place, not in the terminal"
    add("--beside", action="store_true", help=beside)
    add_yes(parser)
    add_work(parser)
    add_system(parser)


FEATURE = Feature(
    "watch",
    "tasks from comments that are saved in files",
    commands=(
        Command(
            "watch",
            "Do what AI! comments in saved files ask",
            Lazy(f"{__name__}:watch_arguments"),
            _here("command:watch_command"),
            group="Change code",
        ),
    ),
)
