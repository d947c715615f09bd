"""Suites of coding tasks with hidden tests: models and versions of kith compared on them."""

import argparse

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_json, positive

_here = lazy_in(__name__)

FEATURE = Feature(
    "suites",
    "suites of coding tasks with hidden tests, to compare models and versions",
    needs=("measure",),
    commands=(
        Command(
            "bench tasks",
            "Run a suite of coding tasks",
            Lazy(f"{__name__}:suite_arguments"),
            _here("command:suite_command"),
            "SUITE",
        ),
    ),
)


def suite_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("suite", metavar="SUITE", help="a program with the commands list, prepare and grade")
    add("--models", metavar="NAMES", default="", help="models to compare, with commas (the first found)")
    add("--only", action="append", metavar="GLOB", help="only tasks like this, such as 'quixbugs/*'")
    add("--limit", type=positive, metavar="N", help="at most so many tasks, spread over all")
    add(
        "--results",
        metavar="FILE",
        help="rows of results; what it has is not run again (SUITE.results.jsonl)",
    )
    add("--jobs", type=positive, metavar="N", default=1, help="tasks at the same time (1)")
    add("--max-task-seconds", type=positive, metavar="N", default=1800, help="seconds for a task (1800)")
    add("--fleet", action="store_true", help="let the workers of the fleet do them")
    add("--report", action="store_true", help="only show what the results say")
    add_json(parser)
