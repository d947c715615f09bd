"""Declare the arguments of `kith plan`."""

import argparse

from kith.terminal.options import add_folder, positive


def plan(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    add = parser.add_argument
    add("task", nargs="?", metavar="TASK", help="what is to be done, in your words")
    add("--limit", type=positive, default=10, metavar="N", help="show at most N files (10)")
    add("--measure", action="store_true", help="rank your own commits' messages: how often are files found?")
    add("--json", action="store_true", help="print JSON")
