"""Refactoring: what could be better, by numbers, and doing it with the project's checks as the judge."""

import argparse

from kith.core.feature import Command, Feature, Lazy, lazy_in
from kith.terminal.options import add_json, add_work, add_yes, positive

_here = lazy_in(__name__)

FEATURE = Feature(
    "refactor",
    "what could be better, and refactorings by syntax tree or by a model",
    edits=_here("by_syntax:EDITS"),
    needs=("scan", "testgen"),
    commands=(
        Command(
            "refactor",
            "say what smells, or mend it: rename, move, extract ...",
            Lazy(f"{__name__}:refactor_arguments"),
            _here("command:refactor_command"),
            "[PATH | ACTION ... | WORDS]",
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
    add("--apply", type=positive, metavar="N", help="mend suggestion N (of PATH)")
    add("--with-tests", action="store_true", help="what a model does in words may change tests, too")
    add_yes(parser)
    add_json(parser)
    add_work(parser)
