"""Declare the arguments of this feature's commands."""

import argparse

from kith.terminal.options import add_json, add_work, add_yes, positive


def testgen(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("target", nargs="?", metavar="TARGET", help="file, file::function or file::Class.method")
    add("--diff", action="store_true", help="what is not committed (as without a TARGET)")
    add("--out", metavar="FILE", help="the file of tests to write, or to add to")
    add("--score", action="store_true", help="write nothing, measure the present tests")
    add("--existing", action="store_true", help="count the mutants that present tests kill")
    add("--max-mutants", type=positive, metavar="N", help="mutants to try (60)")
    add("--time", type=positive, metavar="SECONDS", help="for trying them (300)")
    add_yes(parser)
    add_json(parser)
    add_work(parser)
