"""Refactoring: what could be better, by numbers, and doing it with the project's checks as the judge."""

import argparse

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_json, add_work, add_yes, positive

_here = lazy_in(__name__)

FEATURE = Feature(
    "refactor",
    "suggestions and refactorings, by syntax tree or by a model",
    edits=_here("by_syntax:EDITS"),
    needs=("scan", "testgen"),
    commands=(
        Command(
            "refactor",
            "Suggest refactorings, or apply one",
            Lazy(f"{__name__}:refactor_arguments"),
            _here("command:refactor_command"),
            "[PATH | ACTION ... | WORDS]",
            group="Change code",
        ),
    ),
)


# The options of its commands.


_REFACTORINGS = (
    "nothing or a PATH: suggestions; rename PATH:NAME NEW, move PATH:NAME TARGET.py, "
    "extract PATH:FIRST-LAST NAME, inline PATH:NAME, remove PATH:NAME, organise-imports PATH; "
    "or what a model is to do, in words"
)


def refactor_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("words", nargs="*", metavar="WORD", help=_REFACTORINGS)
    add("--apply", type=positive, metavar="N", help="apply suggestion N (of PATH)")
    add("--with-tests", action="store_true", help="a model's refactoring may change tests, too")
    add_yes(parser)
    add_json(parser)
    add_work(parser)
