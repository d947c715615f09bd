"""Declare the arguments of this feature's commands."""

import argparse

from kith.terminal.options import add_json, add_work, add_yes, positive

_REFACTORINGS = (
    "nothing or a PATH: suggestions; rename PATH:NAME NEW, move PATH:NAME TARGET.py, "
    "extract PATH:FIRST-LAST NAME, inline PATH:NAME, remove PATH:NAME, organise-imports PATH; "
    "or what a model is to do, in words"
)


def refactor(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("words", nargs="*", metavar="WORD", help=_REFACTORINGS)
    add("--apply", type=positive, metavar="N", help="apply suggestion N (of PATH)")
    add("--with-tests", action="store_true", help="a model's refactoring may change tests, too")
    add_yes(parser)
    add_json(parser)
    add_work(parser)
