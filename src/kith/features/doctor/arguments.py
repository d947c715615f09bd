"""Add the options of this feature's commands."""

import argparse

from kith.terminal.options import add_folder, add_json, add_offline


def doctor(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    rounds = parser.add_mutually_exclusive_group()
    rounds.add_argument("--deep", action="store_true", help="also checks that need a call to each model")
    words = "only try to escape the sandbox, in every known way"
    rounds.add_argument("--sandbox", action="store_true", help=words)
    add_offline(parser)
    add_json(parser)
